"""What was found in texts lately, so that the next page of a ledger need not read them again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Kept(Generic[Found]):
    """Findings by a text's hash and how it was read, the oldest let go once all weigh more than `most`.

    The text itself is not kept: whoever asks holds it, and so what was deleted is found by nobody.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._found: OrderedDict[Hashable, tuple[Found, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, how: Hashable, read: Callable[[], Found], weigh: Callable[[Found], int]) -> Found:
        """What `read` gave for this text the last time, or gives now; it weighs one more than `weigh` says."""
        key = (blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=16).digest(), how)
        with self._lock:
            known = self._found.get(key)
            if known is not None:
                self._found.move_to_end(key)
                return known[0]
        found = read()
        with self._lock:
            self._weight += 1 + weigh(found) - self._found.pop(key, (found, 0))[1]
            self._found[key] = (found, 1 + weigh(found))
            while self._weight > self._most and len(self._found) > 1:
                self._weight -= self._found.popitem(last=False)[1][1]
        return found
