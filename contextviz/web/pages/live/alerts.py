"""Alerts: what rules told, the rules, the form of one, and what it would have told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.urls import reverse

from contextviz.charts import words
from contextviz.events.masking import without_secrets
from contextviz.services.alerts import KINDS, Preview, RuleRow
from contextviz.store.queries.alerts import AlertRow
from contextviz.store.viewing import current_viewer
from contextviz.web.pages.links import call_url, compaction_url

PAGE_SIZE = 50
MOST_TITLE = 120
MAY_EDIT = ("operator", "admin", "system")
WEBHOOK_STATES = {"queued": "webhook waits", "sent": "webhook called", "failed": "webhook failed"}
NOT_YOURS = "Only who made this rule, or an admin, may change it: it tells of that person's private sessions."


@dataclass(frozen=True, slots=True)
class AlertLine:
    """One alert: when it was told, its rule, the session, what happened with the page that shows it, and what became
    of its webhook with the address of that job ("" where there is none)."""

    id: int
    at: datetime
    rule: str
    kind: str
    title: str
    session_url: str
    sentence: str
    url: str
    happened_at: str
    webhook: str
    job_url: str
    is_failed: bool


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule: its words, its webhook's host (the rest of the address may be a secret), and where it is changed."""

    id: int
    name: str
    words: str
    host: str
    is_on: bool
    url: str
    switch_url: str
    remove_url: str
    may_change: bool


@dataclass(frozen=True, slots=True)
class NumberField:
    """One number of a kind: the name of its field, its label, its bounds and what stands in it."""

    name: str
    label: str
    least: str
    most: str
    value: str
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class KindChoice:
    """One kind of rule with its numbers."""

    key: str
    label: str
    help: str
    is_chosen: bool
    numbers: list[NumberField]


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form holds."""

    name: str = ""
    kind: str = "fill_above"
    numbers: Mapping[str, str] | None = None
    webhook: str = ""
    rule_id: int | None = None


@dataclass(frozen=True, slots=True)
class ToldLine:
    """One alert that a rule would have told."""

    title: str
    session_url: str
    sentence: str
    url: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class PreviewView:
    """What a rule would have told in the last 30 days, or why that cannot be said."""

    summary: str
    rows: list[ToldLine]
    note: str


@dataclass(frozen=True, slots=True)
class RuleForm:
    """The form of one rule."""

    name: str
    webhook: str
    kinds: list[KindChoice]
    action: str
    rule_id: int | None
    # Why it was not taken and what is to blame, "" both where it was
    error: str
    wrong: str
    preview: PreviewView | None


@dataclass(frozen=True, slots=True)
class AlertsPage:
    """The list of alerts and of rules."""

    alerts: list[AlertLine]
    rules: list[RuleLine]
    # None for who may look alone
    form: RuleForm | None
    may_edit: bool
    # The number of the newest alert: new ones are those after it
    last: int
    older: str
    newest: str
    # The secret that signs a webhook made just now, "" else; it is shown this once
    secret: str = ""
    secret_of: str = ""


def alert_lines(rows: Iterable[AlertRow]) -> list[AlertLine]:
    """Alerts as the page and notifications show them."""
    return [_line(row) for row in rows]


def _line(row: AlertRow) -> AlertLine:
    happened = row.data.get("happened_at")
    return AlertLine(
        row.id, row.at, row.rule, KINDS[row.kind].label if row.kind in KINDS else row.kind, _title(row.title),  # type: ignore[index]
        reverse("session", args=[row.session_id]), without_secrets(row.sentence),
        _place(row.session_id, row.data.get("call"), row.data.get("compaction")),
        happened if isinstance(happened, str) else "", WEBHOOK_STATES.get(row.webhook_state, ""),
        reverse("job", args=[row.job_id]) if row.job_id else "", row.webhook_state == "failed",
    )  # fmt: skip


def _title(title: str) -> str:
    shown = without_secrets(title)
    return shown if len(shown) <= MOST_TITLE else shown[: MOST_TITLE - 1] + "…"


def _place(session_id: int, call: Any, compaction: Any) -> str:
    if isinstance(compaction, int):
        return compaction_url(session_id, compaction)
    if isinstance(call, int):
        return call_url(session_id, call)
    return reverse("session", args=[session_id])


def may_change(rule: RuleRow) -> bool:
    """Whether who looks may change a rule: it tells of its maker's private sessions, so it is the maker's."""
    viewer = current_viewer()
    if viewer.role not in MAY_EDIT:
        return False
    return viewer.sees_all or rule.person_id is None or rule.person_id == viewer.user_id


def rule_line(rule: RuleRow) -> RuleLine:
    """A rule as lists show it."""
    numbers = KINDS[rule.kind].numbers
    said = ", ".join(f"{rule.params.get(name, one.usual):,g} {one.label}" for name, one in numbers.items())
    label = KINDS[rule.kind].label
    host = urlsplit(rule.webhook).hostname or "" if rule.webhook else ""
    return RuleLine(
        rule.id, rule.name, f"{label}: {said}" if said else label, host, rule.is_on,
        reverse("alert_rule", args=[rule.id]), reverse("alert_switch", args=[rule.id]),
        reverse("alert_remove", args=[rule.id]), may_change(rule),
    )  # fmt: skip


def typed_of(rule: RuleRow) -> Typed:
    """What the form of a rule that is kept holds."""
    numbers = {f"{rule.kind}-{name}": f"{value:.12g}" for name, value in rule.params.items()}
    return Typed(rule.name, rule.kind, numbers, rule.webhook, rule.id)


def typed_from(posted: Mapping[str, str], rule_id: int | None) -> Typed:
    """What somebody sent."""
    numbers = {
        f"{kind}-{name}": posted[f"{kind}-{name}"][:40]
        for kind, one in KINDS.items()
        for name in one.numbers
        if f"{kind}-{name}" in posted
    }
    return Typed(posted.get("name", ""), posted.get("kind", "")[:40], numbers, posted.get("webhook", ""), rule_id)


def params_of(typed: Typed) -> dict[str, str]:
    """The numbers of the kind that is chosen, by the names that services.alerts knows; blank ones left out."""
    prefix = f"{typed.kind}-"
    found = (typed.numbers or {}).items()
    return {name.removeprefix(prefix): value for name, value in found if name.startswith(prefix) and value.strip()}


def rule_form(
    typed: Typed, *, error: str = "", wrong: str = "", found: PreviewView | None = None
) -> RuleForm:  # fmt: skip
    """The form with what it holds; `wrong` is the field that `error` is about."""
    action = reverse("alerts") if typed.rule_id is None else reverse("alert_rule", args=[typed.rule_id])
    kinds = [_choice(kind, typed, wrong) for kind in KINDS]
    return RuleForm(typed.name, typed.webhook, kinds, action, typed.rule_id, error, wrong, found)


def _choice(kind: str, typed: Typed, wrong: str) -> KindChoice:
    told = KINDS[kind]  # type: ignore[index]
    is_chosen = kind == typed.kind
    numbers = [
        NumberField(
            f"{kind}-{name}", one.label, f"{one.least:.12g}", f"{one.most:.12g}",
            (typed.numbers or {}).get(f"{kind}-{name}", f"{one.usual:.12g}"), is_chosen and wrong == name,
        )
        for name, one in told.numbers.items()
    ]  # fmt: skip
    return KindChoice(kind, told.label, told.help, is_chosen, numbers)


def preview_view(found: Preview) -> PreviewView:
    """A preview in words."""
    if found.note:
        return PreviewView("", [], found.note)
    rows = [
        ToldLine(
            _title(one.title), reverse("session", args=[one.session_id]), without_secrets(one.alarm.sentence),
            _place(
                one.session_id, None if one.alarm.call_index is None else one.alarm.call_index + 1, one.alarm.compaction
            ),
            one.alarm.at,
        )
        for one in found.shown
    ]  # fmt: skip
    looked = f"the {words.counted(found.looked_at, 'session')} of the last 30 days"
    told = f"{words.counted(found.count, 'alert')} in {words.counted(found.sessions, 'session')}"
    summary = f"It would have told {told}, of {looked}." if found.count else f"It would have told nothing of {looked}."
    note = "There are more sessions or calls than a preview looks at; the newest were." if found.is_cut else ""
    return PreviewView(summary, rows, note)


def alerts_page(
    rows: Sequence[AlertRow], rules: Sequence[RuleRow], *, before: int | None, last: int, form: RuleForm | None,
    secret: str = "", secret_of: str = "",
) -> AlertsPage:  # fmt: skip
    """The page; `rows` are one more than it shows where there are older ones."""
    shown = rows[:PAGE_SIZE]
    url = reverse("alerts")
    older = f"{url}?before={shown[-1].id}" if len(rows) > PAGE_SIZE else ""
    is_editor = current_viewer().role in MAY_EDIT
    return AlertsPage(
        alert_lines(shown), [rule_line(rule) for rule in rules], form if is_editor else None, is_editor, last, older,
        url if before is not None else "", secret, secret_of,
    )  # fmt: skip
