"""What a list of compactions and a ledger ask for at once: many snapshots, many handles, one query each."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_

from django.db.models import Q

from contextviz.store.models import SnapshotRecord, TextRecord
from contextviz.store.values import SnapshotRow

COLUMNS = ("index", "call_index", "basis", "note", "previous", "keep", "item_count", "estimated_tokens", "sums")
MOST_HANDLES = 200
_HEX = frozenset("0123456789abcdef")


def snapshots_of_calls(session_id: int, call_indexes: Collection[int]) -> dict[int, SnapshotRow]:
    """The snapshots of some calls by call index, those without one left out. One query."""
    found = SnapshotRecord.objects.filter(session_id=session_id, call_index__in=set(call_indexes)).order_by("-index")
    return {
        call: SnapshotRow(index, call, basis, note or None, *rest)
        for index, call, basis, note, *rest in found.values_list(*COLUMNS)
    }


def find_handles(handles: Collection[str]) -> dict[str, bytes]:
    """The digest of the one text each handle (6 to 64 hex digits) begins; a handle of several texts or of none is
    left out. One query for the first MOST_HANDLES handles."""
    wanted = [handle for handle in dict.fromkeys(handles) if 6 <= len(handle) <= 64 and _HEX.issuperset(handle)]
    del wanted[MOST_HANDLES:]
    if not wanted:
        return {}
    ranges = [
        Q(digest__gte=bytes.fromhex(handle.ljust(64, "0")), digest__lte=bytes.fromhex(handle.ljust(64, "f")))
        for handle in wanted
    ]
    found = TextRecord.objects.filter(reduce(or_, ranges)).values_list("digest", flat=True)
    digests = [bytes(digest) for digest in found]
    result = {}
    for handle in wanted:
        matching = [digest for digest in digests if digest.hex().startswith(handle)]
        if len(matching) == 1:
            result[handle] = matching[0]
    return result
