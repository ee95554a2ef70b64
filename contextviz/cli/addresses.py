"""Where the server listens, and the address a person opens."""

from __future__ import annotations

import errno
import ipaddress
import socket
from urllib.parse import urlencode

from contextviz.commands import command_here

DEFAULT_PORT = 8765
_TRIED_PORTS = 20


class AddressRefused(Exception):
    """The address cannot or must not be used; the text is a sentence for a person."""


def is_loopback(host: str) -> bool:
    """Whether the name or address stays on this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether it means every address of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def near(host: str) -> str:
    """Where this machine itself reaches a server that listens on `host`."""
    if not is_wildcard(host):
        return host
    return "::1" if ":" in host else "127.0.0.1"


def listen(host: str, port: int | None, *, has_accounts: bool = False) -> socket.socket:
    """A socket listening on the port; without one, on the default port or the next free one after it.

    Raises AddressRefused for a host that others could reach where no admin has a password (`has_accounts`), and for a
    port that is taken.
    """
    if not is_loopback(host) and not has_accounts:
        raise AddressRefused(
            f"--host {host} would let other machines in, and there are no accounts to keep them out yet; make one with "
            f"{command_here('createuser NAME --role admin')}, or use 127.0.0.1 and a tunnel (for example ssh -L)."
        )
    candidates = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + _TRIED_PORTS)
    for candidate in candidates:
        try:
            return _bound(host.strip("[]"), candidate)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise AddressRefused(f"{host} port {candidate} cannot be used: {error.strerror}.") from error
    if port is not None:
        raise AddressRefused(f"Port {port} is in use by another program; choose another with --port, or stop that one.")
    raise AddressRefused(
        f"The ports {DEFAULT_PORT} to {DEFAULT_PORT + _TRIED_PORTS - 1} are all in use; choose one with --port."
    )


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # Listening at once: on Linux two sockets may be bound to one port as long as neither listens.
        listener.listen(256)
    except BaseException:
        listener.close()
        raise
    return listener


def sign_in_url(port: int, token: str, host: str = "127.0.0.1") -> str:
    """The address that signs its opener in, once."""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{shown}:{port}/sign-in/?{urlencode({'token': token})}"
