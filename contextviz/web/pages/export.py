"""The review before an export: what is masked, what has to be decided, in which form the copy comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import reverse

from contextviz.charts import words
from contextviz.services.export import Decision, Decisions, Place, Report
from contextviz.services.export.sizes import Size
from contextviz.store.values import SessionRow
from contextviz.web.pages.held import title_of
from contextviz.web.pages.jobs import JobView
from contextviz.web.pages.tabs import Tab, session_tabs

SUSPECTED_SHOWN = 100
FOUND_SHOWN = 60
REASON_CHARS = 200
FORM_NAMES = (
    ("json", "JSON", "everything, with the windows of all calls; for programs"),
    ("md", "Markdown", "to read, for notes and issues"),
    ("html", "HTML", "to read, one file that opens offline"),
)
_DECISION, _REASON = "decision.", "reason."


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """One value to be decided, or that is masked."""

    id: str
    kind: str
    where: str
    # Why it is not certain, "" where it is
    reason: str
    # What stands around it, secrets dotted out
    context: str
    # How long the value is; a button asks for the value itself
    chars: int
    # What is chosen: mask, keep or "" for nothing yet; and why it is kept
    action: str
    why: str


@dataclass(frozen=True, slots=True)
class FormChoice:
    """One form that a copy can have."""

    key: str
    name: str
    text: str
    current: bool


@dataclass(frozen=True, slots=True)
class ExportPage:
    """What export/review.html shows."""

    title: str
    session_url: str
    url: str
    tabs: list[Tab]
    error: str
    # Whether the session was looked through; else how much text and how many records that is and how long it takes, in
    # words, where the job that does it is opened, and the newest such job
    is_looked: bool
    size: str
    records: str
    seconds: str
    look_url: str
    job: JobView | None
    # Where a value is asked for
    unmask_url: str
    # To be decided, and those that are masked without a question, each with how many are not listed
    suspected: list[PlaceRow]
    more_suspected: int
    found: list[PlaceRow]
    more_found: int
    mask_all: bool
    forms: list[FormChoice]

    @property
    def is_looking(self) -> bool:
        """Whether a job looks the session through right now, or will."""
        return not self.is_looked and self.job is not None and self.job.state in ("queued", "running")


def decided(posted: Mapping[str, str]) -> Decisions:
    """The decisions of a form."""
    by_place = {}
    for name, value in posted.items():
        if name.startswith(_DECISION) and value in ("mask", "keep"):
            place = name.removeprefix(_DECISION)
            why = " ".join(str(posted.get(f"{_REASON}{place}", "")).split())[:REASON_CHARS]
            by_place[place] = Decision("keep", why) if value == "keep" else Decision("mask")
    return Decisions(by_place, mask_all=posted.get("mask_all") == "yes")


def export_page(
    row: SessionRow, report: Report | None, decisions: Decisions, *, size: Size, error: str = "", form: str = "json",
    job: JobView | None = None,
) -> ExportPage:  # fmt: skip
    """The page; `report` None where the session was not looked through yet, `job` looks then."""
    places = list(report.places.values()) if report else []
    suspected = [one for one in places if one.certainty == "suspected"]
    found = [one for one in places if one.certainty == "found"]
    url = reverse("export", args=[row.id])
    return ExportPage(
        title=title_of(row),
        session_url=reverse("session", args=[row.id]),
        url=url,
        tabs=session_tabs(row, ""),
        error=error,
        is_looked=report is not None,
        size=words.size(size.text),
        records=words.counted(size.records, "record", "records"),
        seconds=words.duration(max(1.0, size.seconds)),
        look_url=reverse("export_look", args=[row.id]),
        job=job,
        unmask_url=reverse("export_unmask", args=[row.id]),
        suspected=[_row(one, decisions, "") for one in suspected[:SUSPECTED_SHOWN]],
        more_suspected=max(len(suspected) - SUSPECTED_SHOWN, 0) + (report.unlisted if report else 0),
        found=[_row(one, decisions, "mask") for one in found[:FOUND_SHOWN]],
        more_found=max(len(found) - FOUND_SHOWN, 0) + (report.uncounted if report else 0),
        mask_all=decisions.mask_all,
        forms=[FormChoice(key, name, text, key == form) for key, name, text in FORM_NAMES],
    )


def _row(place: Place, decisions: Decisions, usual: str) -> PlaceRow:
    decision = decisions.by_place.get(place.id)
    where = place.where if place.count == 1 else f"{place.where}, and {place.count - 1} more"
    return PlaceRow(
        place.id,
        place.kind.replace("_", " "),
        where,
        place.reason,
        place.context,
        len(place.value),
        decision.action if decision else usual,
        decision.reason if decision else "",
    )
