"""Waking those who wait for the feed, in scale-out: a message over Redis after the commit. Nothing depends on it."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

logger = logging.getLogger("contextviz.live")
CHANNEL = "contextviz.live"
SECONDS = 1.0


def wake_after_commit() -> None:
    """Send the message once the transaction is committed; nothing where there is no Redis."""
    if settings.REDIS_URL:
        transaction.on_commit(_send, robust=True)


def _send() -> None:
    try:
        _client(settings.REDIS_URL).publish(CHANNEL, b"1")
    except Exception as error:  # whatever it is, streams find the rows without it
        logger.debug("the live bus could not be woken, streams look by themselves: %s", error)


@cache
def _client(url: str) -> Any:
    # By name: without Redis its client would be megabytes in every worker for nothing.
    return import_string("redis.Redis").from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)
