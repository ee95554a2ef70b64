"""Where a server may listen, once its accounts are known."""

from __future__ import annotations

import socket

from django.conf import settings
from django.core.management.base import CommandError, OutputWrapper

from contextviz.cli.addresses import AddressRefused, is_loopback, is_wildcard, listen
from contextviz.cli.database import prepare
from contextviz.services.accounts.people import has_admin_with_password

LOOPBACK_NAMES = 3  # what ALLOWED_HOSTS holds when nobody added to it


def open_listener(host: str, port: int | None, out: OutputWrapper) -> socket.socket:
    """A listening socket. An address that others can reach needs an admin with a password. Raises CommandError."""
    is_open = not is_loopback(host)
    if is_open:
        prepare()  # accounts are rows
    try:
        listener = listen(host, port, has_accounts=is_open and has_admin_with_password())
    except AddressRefused as refusal:
        raise CommandError(str(refusal)) from refusal
    settings.LISTENS_ON_LOOPBACK = not is_open
    if is_open:
        _tell_of_others(host, out)
    return listener


def _tell_of_others(host: str, out: OutputWrapper) -> None:
    plain = host.strip("[]")
    if not is_wildcard(host):
        settings.ALLOWED_HOSTS.append(f"[{plain}]" if ":" in plain else plain)
    elif len(settings.ALLOWED_HOSTS) == LOOPBACK_NAMES:
        out.write(
            "Only 127.0.0.1 and localhost are answered: set CONTEXTVIZ_ALLOWED_HOSTS to the names under which other "
            "machines call this one."
        )
    if not settings.HTTPS:
        out.write("Passwords travel unencrypted unless a proxy in front speaks HTTPS; see docs/operations.md.")
