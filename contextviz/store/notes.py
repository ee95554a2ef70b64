"""Problems of a session that are told of after it was saved: of its files, not of what was read in them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from django.db.models import F

from contextviz.events.problem import ReadProblem
from contextviz.store.models import ProblemRecord, SessionDetailRecord, SessionRecord
from contextviz.store.rows.call import PROBLEMS
from contextviz.store.tables import pack_hashes, replace, unpack_hashes

Change = Callable[[list[ReadProblem]], list[ReadProblem]]


def change_problems(session_id: int, change: Change, *, now: datetime) -> bool:
    """Make a session's problems what `change` makes of them; whether that is anything else. Its revision grows then.

    Call it inside a transaction. Three queries where nothing changes.
    """
    session = SessionRecord.objects.select_for_update().filter(pk=session_id).first()
    detail = SessionDetailRecord.objects.filter(session_id=session_id).first()
    if session is None or detail is None:
        return False
    rows = ProblemRecord.objects.filter(session_id=session_id).order_by("index").values_list(*PROBLEMS.columns)
    known = [PROBLEMS.to_event(row) for row in rows]
    wanted = change(list(known))
    if wanted == known:
        return False
    hashes = unpack_hashes(detail.row_hashes)
    replace(PROBLEMS, session_id, wanted, hashes)
    SessionDetailRecord.objects.filter(session_id=session_id).update(row_hashes=pack_hashes(hashes))
    SessionRecord.objects.filter(pk=session_id).update(
        problem_count=len(wanted), error_count=sum(one.severity == "error" for one in wanted), updated_at=now,
        revision=F("revision") + 1,
    )  # fmt: skip
    return True


def problems_of_key(key: str, codes: Collection[str]) -> list[ReadProblem]:
    """The problems with one of `codes` of the session that is kept under `key`, in order. One query."""
    rows = ProblemRecord.objects.filter(session__key=key, code__in=list(codes)).order_by("index")
    return [PROBLEMS.to_event(row) for row in rows.values_list(*PROBLEMS.columns)]
