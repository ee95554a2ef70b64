"""Which addresses a webhook can have, and which network addresses are open to everybody."""

from __future__ import annotations

import ipaddress
from importlib import import_module
from typing import TYPE_CHECKING, Any

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Not every version of Python counts these two as inside: special protocols, and the relays that once were 6to4's.
_SPECIAL = (ipaddress.ip_network("192.0.0.0/24"), ipaddress.ip_network("192.88.99.0/24"))
if TYPE_CHECKING:
    import httpx


def http() -> Any:
    """The HTTP client, by name: 10 MB of every worker, for the few webhooks that are kept and called."""
    return import_module("httpx")


def url_of(address: str) -> httpx.URL:
    """A webhook's address as it would be called; raises ValueError for one whose host no name or number can be."""
    try:
        url: httpx.URL = http().URL(address)
    except http().InvalidURL as error:
        raise ValueError(str(error)) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("it does not begin with http:// or https:// and a host")
    if "%" in url.host:
        raise ValueError("its host has a zone or an escaped character")
    url.raw_host.decode("ascii").encode("idna")  # a label that is empty or too long is a UnicodeError, a ValueError
    return url


def is_public(address: Address) -> bool:
    """Whether an address is one of the open network: not loopback, private, link-local, site-local, multicast or
    reserved, nor an IPv6 form of such an IPv4 address."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if address.is_site_local or (inner is not None and not is_public(inner)):
            return False
    if any(address in network for network in _SPECIAL):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified
