"""Model calls, compactions, problems."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import BooleanField, Case, Count, F, Q, Sum, Value, When

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.problem import ReadProblem
from contextviz.events.usage import MOST_COST, MOST_TOKENS, TokenUsage
from contextviz.store.models import CallRecord, CompactionRecord, ProblemRecord
from contextviz.store.rows.call import CALLS, COMPACTIONS, PROBLEMS
from contextviz.store.values import NotFound
from contextviz.tokens.prices import LONG_PROMPT

_USAGE = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cache_write_5m_tokens", "cache_write_1h_tokens", "cost_usd",
)  # fmt: skip
_MAIN = Q(agent="", on_active_path=True)
LISTS = ("kept", "context_items")  # neighbours in COMPACTIONS.columns


def calls(session_id: int, *, start: int = 0, stop: int | None = None) -> list[ModelCall]:
    """Calls from index `start` up to but not `stop`, in order. One query. Charts use services.figures instead."""
    found = CallRecord.objects.filter(session_id=session_id, index__gte=start)
    if stop is not None:
        found = found.filter(index__lt=stop)
    return [CALLS.to_event(row) for row in found.order_by("index").values_list(*CALLS.columns)]


def first_call_since(session_id: int, message_index: int, *, start: int = 0) -> int:
    """The index of the first call, `start` or later, whose answer is message `message_index` or a later one; `start`
    where there is none. One query."""
    found = CallRecord.objects.filter(session_id=session_id, index__gte=start, message_index__gte=message_index)
    index = found.order_by("index").values_list("index", flat=True).first()
    return start if index is None else index


def get_call(session_id: int, index: int) -> ModelCall:
    """One call by its index (the number that people read, less one); raises NotFound."""
    found = calls(session_id, start=index, stop=index + 1) if index >= 0 else []
    if not found:
        raise NotFound(f"Session {session_id} has no call {index + 1}.")
    return found[0]


def last_main_call(session_id: int) -> ModelCall | None:
    """The newest call of the main chain on the active path that is a turn's; None without one. One query."""
    found = CallRecord.objects.filter(session_id=session_id, agent="", purpose="turn", on_active_path=True)
    row = found.order_by("-index").values_list(*CALLS.columns).first()
    return CALLS.to_event(row) if row else None


@dataclass(frozen=True, slots=True)
class CallUsage:
    """The usage of calls that cost alike, added up; `is_long` above prices.LONG_PROMPT, `is_complete` where both the
    prompt and the answer are counted."""

    model: str | None
    basis: str
    is_long: bool
    is_complete: bool
    calls: int
    usage: TokenUsage


def main_usage(session_id: int) -> list[CallUsage]:
    """The usage of the main chain's turns on the active path, by what they cost at. One query."""
    found = CallRecord.objects.filter(_MAIN, session_id=session_id, purpose="turn")
    flags = {
        "is_long": _flag(prompt_tokens__gt=LONG_PROMPT),
        "is_complete": _flag(prompt_tokens__isnull=False, output_tokens__isnull=False),
        "has_cost": _flag(cost_usd__isnull=False),
    }
    by = ("model", "basis", *flags)
    # Rows of releases before MOST_TOKENS may hold more, of which a sum does not fit into 64 bits.
    most = {name: MOST_COST if name == "cost_usd" else MOST_TOKENS for name in _USAGE}
    sums = {f"sum_{name}": Sum(F(name), filter=Q(**{f"{name}__lte": most[name]})) for name in _USAGE}
    rows = found.annotate(**flags).values(*by).annotate(number=Count("index"), **sums).order_by(*by)
    return [
        CallUsage(row["model"] or None, row["basis"], row["is_long"], row["is_complete"], row["number"],
                  TokenUsage(**{name: row[f"sum_{name}"] for name in _USAGE}))
        for row in rows
    ]  # fmt: skip


def _flag(**holds: object) -> Case:
    return Case(When(**holds, then=Value(True)), default=Value(False), output_field=BooleanField())


def summaries_of_main(session_id: int) -> tuple[int, int]:
    """How many calls of the main chain on the active path were for a summary, and how many of its compactions made
    one. Two queries."""
    asked = CallRecord.objects.filter(_MAIN, session_id=session_id, purpose="summary").count()
    return asked, CompactionRecord.objects.filter(_MAIN, session_id=session_id, kind="summary").count()


def calls_at(session_id: int, indexes: Collection[int]) -> dict[int, ModelCall]:
    """Calls by index, missing ones left out. One query."""
    found = CallRecord.objects.filter(session_id=session_id, index__in=set(indexes)).order_by("index")
    return {row[0]: CALLS.to_event(row) for row in found.values_list(*CALLS.columns)}


def call_of_message(session_id: int, message_index: int) -> ModelCall | None:
    """The call that a message is the answer of."""
    found = CallRecord.objects.filter(session_id=session_id, message_index=message_index).order_by("index")
    row = found.values_list(*CALLS.columns).first()
    return CALLS.to_event(row) if row else None


def compactions(
    session_id: int, *, start: int = 0, stop: int | None = None, with_lists: bool = True
) -> list[Compaction]:
    """Compactions in order, from place `start` up to but not `stop` (places count from 0). One query.

    Without `with_lists` the entries that each kept and what the window then held are left empty: hundreds of
    compactions are quickly a megabyte of them, and only a compaction's own page shows them.
    """
    found = CompactionRecord.objects.filter(session_id=session_id, index__gte=start).order_by("index")
    if stop is not None:
        found = found.filter(index__lt=stop)
    if with_lists:
        return [COMPACTIONS.to_event(row) for row in found.values_list(*COMPACTIONS.columns)]
    rows = found.values_list(*(name for name in COMPACTIONS.columns if name not in LISTS))
    place = COMPACTIONS.columns.index(LISTS[0])
    return [COMPACTIONS.to_event((*row[:place], [], [], *row[place:])) for row in rows]


def get_compaction(session_id: int, number: int) -> Compaction:
    """One compaction by the number people read; raises NotFound."""
    found = CompactionRecord.objects.filter(session_id=session_id, number=number).order_by("index")
    row = found.values_list(*COMPACTIONS.columns).first()
    if row is None:
        raise NotFound(f"Session {session_id} has no compaction {number}.")
    return COMPACTIONS.to_event(row)


def notes_of(session_ids: Collection[int]) -> dict[int, int]:
    """How many of each session's problems are mere notes (severity info); sessions without any left out. One query."""
    found = ProblemRecord.objects.filter(session_id__in=list(session_ids), severity="info").values("session_id")
    return dict(found.annotate(count=Count("index")).values_list("session_id", "count"))


def problems(session_id: int, *, limit: int = 1000, offset: int = 0) -> list[ReadProblem]:
    """What could not be read as it stands, in the order found. One query."""
    found = ProblemRecord.objects.filter(session_id=session_id, index__gte=offset, index__lt=offset + limit)
    return [PROBLEMS.to_event(row) for row in found.order_by("index").values_list(*PROBLEMS.columns)]
