"""Sessions: the Library's list, and one session."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet

from contextviz.store.models import (
    ArtifactRecord,
    BudgetRecord,
    SessionArtifactRecord,
    SessionDetailRecord,
    SessionRecord,
    SessionSeriesRecord,
)
from contextviz.store.rows import session as rows
from contextviz.store.values import (
    ClientTotal,
    Facet,
    LibraryFilter,
    NotFound,
    Page,
    SessionDetail,
    SessionRow,
    SourceRow,
)
from contextviz.store.viewing import seen_sessions

_COLUMNS = tuple(field.name for field in fields(SessionRow))
_UNDATED = Q(started_at__isnull=True, ended_at__isnull=True)
_TEXTS = frozenset(
    {"format_version", "agent", "title", "cwd", "model", "parent", "forked_from", "window_basis",
     "compaction_threshold_basis", "estimator"}
)  # fmt: skip
SORTS = {
    "time": "sorted_at",
    "started": "started_at",
    "title": "title",
    "agent": "format",  # the program that wrote it; an agent's own name is the same in most sessions, or not there
    "calls": "call_count",
    "messages": "message_count",
    "compactions": "compaction_count",
    "fill": "occupancy_share",
    "tokens": "spend_total_tokens",
    "cost": "cost_usd",
    "problems": "problem_count",
}


class SessionPlace(NamedTuple):
    """Where a session stands in the Library's order: whether its source has a time, the time it is sorted by (where
    there is none: when it was read), and its id."""

    is_dated: bool
    at: datetime
    number: int


def _row(values: dict[str, Any]) -> SessionRow:
    known: dict[str, Any] = {name: (value or None) if name in _TEXTS else value for name, value in values.items()}
    return SessionRow(**known)


def _visible() -> QuerySet[SessionRecord]:
    return SessionRecord.objects.exclude(status="deleting").filter(seen_sessions())


def by_features() -> list[tuple[str, str, int | None, int]]:
    """Format, its version ("" where none is written), the features seen as a number (sources.features; None where they
    were not kept yet), and how many sessions have exactly these. One query, a row for each combination."""
    columns = ("format", "format_version", "features")
    return list(_visible().values_list(*columns).annotate(count=Count("pk")).order_by(*columns))


def library(
    chosen: LibraryFilter = LibraryFilter(),  # noqa: B008  # frozen
    *,
    sort: str = "time",
    descending: bool = True,
    page: int = 1,
    size: int = 50,
) -> Page[SessionRow]:
    """One page of sessions, unknown values last; `sort` is a key of SORTS. Two queries, four by time where a page has
    sessions without any."""
    found = _filtered(chosen)
    total = found.count()
    number = max(1, min(page, -(-total // size) or 1))
    start = (number - 1) * size
    name = SORTS.get(sort, "sorted_at")
    if name == "sorted_at":
        listed = _by_time(found, start, min(size, total - start), descending=descending)
    else:
        order = F(name).desc(nulls_last=True) if descending else F(name).asc(nulls_last=True)
        listed = list(found.order_by(order, "-id").values(*_COLUMNS)[start : start + size])
    return Page([_row(values) for values in listed], number, size, total)


def _by_time(found: QuerySet[SessionRecord], start: int, many: int, *, descending: bool) -> list[dict[str, Any]]:
    """`many` sessions from place `start` on; those whose source has no time stand last, whenever they were read."""
    order = "-sorted_at" if descending else "sorted_at"
    # Two queries that the index serves instead of one that sorts every session.
    dated, undated = (half.order_by(order, "-id") for half in (found.exclude(_UNDATED), found.filter(_UNDATED)))
    listed = list(dated.values(*_COLUMNS)[start : start + many])
    left = many - len(listed)
    if left > 0:
        first = 0 if listed or not start else max(0, start - dated.count())
        listed += undated.values(*_COLUMNS)[first : first + left]
    return listed


def sessions_after(
    chosen: LibraryFilter, *, after: SessionPlace | None, limit: int
) -> list[tuple[SessionRow, SessionPlace]]:
    """Sessions in the Library's order, the newest first and those without a time last, each with its place; those
    behind the place `after`. Two queries at most, however far in."""
    found = _filtered(chosen)
    listed: list[tuple[SessionRow, SessionPlace]] = []
    for is_dated in (True, False) if after is None or after.is_dated else (False,):
        half = found.exclude(_UNDATED) if is_dated else found.filter(_UNDATED)
        if after is not None and after.is_dated == is_dated:
            # Written so that the index serves it on both databases; the time alone bounds the range.
            half = half.filter(sorted_at__lte=after.at).exclude(sorted_at=after.at, pk__gte=after.number)
        rows = half.order_by("-sorted_at", "-id").values("sorted_at", *_COLUMNS)[: limit - len(listed)]
        for values in rows:
            place = SessionPlace(is_dated, values.pop("sorted_at"), values["id"])
            listed.append((_row(values), place))
        if len(listed) >= limit:
            break
    return listed


def _filtered(chosen: LibraryFilter) -> QuerySet[SessionRecord]:
    found = _visible()
    for word in chosen.search.split()[:8]:
        found = found.filter(
            Q(title__icontains=word) | Q(source_id__icontains=word) | Q(agent__icontains=word)
            | Q(cwd__icontains=word) | Q(model__icontains=word)
        )  # fmt: skip
    if chosen.format:
        found = found.filter(format=chosen.format)
    if chosen.formats is not None:
        found = found.filter(format__in=chosen.formats)
    if chosen.agent:
        found = found.filter(agent=chosen.agent)
    if chosen.has_compactions:
        found = found.filter(compaction_count__gt=0)
    if chosen.has_problems:
        found = found.filter(problem_count__gt=0)
    if chosen.since:
        found = found.filter(sorted_at__gte=chosen.since)
    if chosen.until:
        found = found.filter(sorted_at__lt=chosen.until)
    return found


def facets() -> dict[str, list[Facet]]:
    """Values to filter by with their counts, under "format" and "agent", the commonest first. Two queries."""
    result = {}
    for name in ("format", "agent"):
        counted = _visible().exclude(**{name: ""}).values_list(name).annotate(n=Count("id")).order_by("-n", name)
        result[name] = [Facet(value, count) for value, count in counted[:100]]
    return result


def session_count() -> int:
    """How many sessions there are; none makes the Library teach the first step."""
    return _visible().count()


def recent_sessions(limit: int = 8) -> list[SessionRow]:
    """The newest sessions, those without a time last, as in the Library. Two queries at most."""
    return [_row(values) for values in _by_time(_visible(), 0, limit, descending=True)]


def get_session(session_id: int) -> SessionRow:
    """One session's row; raises NotFound."""
    values = _visible().filter(pk=session_id).values(*_COLUMNS).first()
    if values is None:
        raise NotFound(f"There is no session {session_id} here; it may have been deleted.")
    return _row(values)


def neighbour(session_id: int, *, newer: bool) -> SessionRow | None:
    """The session before (`newer`) or after this one in the Library's order, None at the end; raises NotFound. Three
    queries at most."""
    known = _visible().filter(pk=session_id).values_list("sorted_at", "started_at", "ended_at").first()
    if known is None:
        raise NotFound(f"There is no session {session_id} here; it may have been deleted.")
    place, is_dated = known[0], bool(known[1] or known[2])
    dated, undated = _visible().exclude(_UNDATED), _visible().filter(_UNDATED)
    if newer:
        beyond, order = Q(sorted_at__gt=place) | Q(sorted_at=place, pk__gt=session_id), ("sorted_at", "id")
    else:
        beyond, order = Q(sorted_at__lt=place) | Q(sorted_at=place, pk__lt=session_id), ("-sorted_at", "-id")
    found = (dated if is_dated else undated).filter(beyond).order_by(*order).values(*_COLUMNS).first()
    if found is None and is_dated != newer:  # at the border: the oldest with a time and the first without
        found = (undated if is_dated else dated).order_by(*order).values(*_COLUMNS).first()
    return _row(found) if found is not None else None


def find_sessions(session_ids: list[int]) -> list[SessionRow]:
    """The rows of those sessions that exist, in the order of their ids."""
    return [_row(values) for values in _visible().filter(pk__in=session_ids).order_by("id").values(*_COLUMNS)]


def named(source_id: str) -> list[SessionRow]:
    """Sessions with this id of their own (a parent, a fork's origin, a map's session key)."""
    return [_row(values) for values in _visible().filter(source_id=source_id).order_by("id").values(*_COLUMNS)[:20]]


def related(row: SessionRow) -> list[SessionRow]:
    """Sessions that this one names as parent or origin, and those that name it."""
    names = [name for name in (row.parent, row.forked_from) if name]
    either = Q(source_id__in=names) | Q(parent=row.source_id) | Q(forked_from=row.source_id)
    found = _visible().filter(either).exclude(pk=row.id).order_by("id")
    return [_row(values) for values in found.values(*_COLUMNS)[:100]]


def revision(session_id: int) -> int:
    """The session's revision, which grows with every change; 0 where there is none. One small query, for polling."""
    found = _visible().filter(pk=session_id).values_list("revision", flat=True).first()
    return found or 0


def session_detail(session_id: int, *, with_times: bool = True, with_lists: bool = True) -> SessionDetail:
    """One session with its detail (see SessionDetail); raises NotFound. Two queries.

    Without `with_times` the times of its entries, as many as it has lines, are left out; without `with_lists` all
    that is as long as the session (its paths and the window at its end as well), as a page wants it.
    """
    row = get_session(session_id)
    found = SessionDetailRecord.objects.filter(session_id=session_id).select_related("session").first()
    if found is None:
        raise NotFound(f"Session {session_id} has not been read completely.")
    detail = rows.unpack_detail(found.body, with_lists=with_lists)
    if not with_times:
        detail["entry_times"] = {}
    session = rows.to_session(found.session, detail)
    return SessionDetail(row, session, rows.fill_transcript(session, detail), rows.client_total(detail))


def client_total(session_id: int) -> ClientTotal:
    """What the client says of the session as a whole; nothing where it says nothing. One query."""
    body = SessionDetailRecord.objects.filter(session_id=session_id).values_list("body", flat=True).first()
    return ClientTotal() if body is None else rows.client_total(rows.unpack_detail(body, with_lists=False))


def series(session_id: int) -> tuple[bytes, bytes]:
    """What charts draw: strips and compositions as SessionSeriesRecord holds them (services.figures opens them)."""
    found = SessionSeriesRecord.objects.filter(session_id=session_id).values_list("strips", "compositions").first()
    if found is None:
        raise NotFound(f"There is no session {session_id} here; it may have been deleted.")
    return bytes(found[0]), bytes(found[1])


def strips(session_id: int) -> bytes:
    """The strips alone."""
    found = SessionSeriesRecord.objects.filter(session_id=session_id).values_list("strips", flat=True).first()
    if found is None:
        raise NotFound(f"There is no session {session_id} here; it may have been deleted.")
    return bytes(found)


def find_budget(session_id: int) -> bytes | None:
    """The packed table (services.budgets opens it), None where it was never computed. One query."""
    found = BudgetRecord.objects.filter(session_id=session_id).values_list("body", flat=True).first()
    return None if found is None else bytes(found)


def sources(session_id: int) -> list[SourceRow]:
    """The raw files that a session is read from now."""
    links = SessionArtifactRecord.objects.filter(session_id=session_id).select_related("artifact").order_by("id")
    return [_source(link, link.artifact) for link in links]


def _source(link: SessionArtifactRecord, artifact: ArtifactRecord) -> SourceRow:
    return SourceRow(
        artifact.sha256, link.name, artifact.size, link.source_path or artifact.path or None, bool(artifact.path),
        artifact.received_at,
    )  # fmt: skip
