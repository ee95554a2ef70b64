"""Rules: what they can be, kept, switched, removed."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings

from contextviz.analysis.live.alarms import AlarmKind
from contextviz.services.alerts.addresses import is_public, url_of
from contextviz.store.models import AlertRuleRecord
from contextviz.store.values import NotFound

MOST_RULES = 100
MOST_NAME = 120
MOST_ADDRESS = 2000


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a rule: what it is called, its bounds and what it is when nobody says."""

    label: str
    least: float
    most: float
    usual: float


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of rule: its words, and the numbers it has."""

    label: str
    help: str
    numbers: Mapping[str, Number]


KINDS: Mapping[AlarmKind, Kind] = {
    "fill_above": Kind(
        "The window is fuller than", "told once each time the prompt passes the share from below",
        {"percent": Number("% of the window", 1, 100, 80)},
    ),
    "compaction": Kind("A compaction happens", "told for each compaction of the main chain", {}),
    "compactions_within": Kind(
        "Several compactions in a short time", "a sign of a loop: what is compacted is read again at once",
        {"count": Number("compactions", 2, 100, 3), "minutes": Number("minutes", 1, 10_080, 30)},
    ),
    "overflow": Kind("The prompt is larger than the window", "told once each time it grows over it", {}),
    "stuck": Kind(
        "A session is stuck", "a prompt or a tool result has had no answer for so long",
        {"minutes": Number("minutes", 1, 1440, 10)},
    ),
    "prefix_break": Kind(
        "The prompt cache broke", "less was read from the cache than this share of the prompt before",
        {"percent": Number("% of the prompt before", 1, 100, 50),
         "tokens": Number("tokens that the prompt before had at least", 0, 10_000_000, 10_000)},
    ),
}  # fmt: skip


class RuleRefused(Exception):
    """The rule cannot be kept so; the text is a sentence for a person, `field` what it is about."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule. `webhook` is its address or empty; the secret that signs it is shown once, when it is made."""

    id: int
    name: str
    kind: AlarmKind
    params: dict[str, float]
    is_on: bool
    webhook: str
    person_id: int | None
    created_at: datetime


def checked(kind: str, given: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a rule, within their bounds; raises RuleRefused."""
    if kind not in KINDS:
        raise RuleRefused("kind", "Choose what the rule is about.")
    numbers: dict[str, float] = {}
    for name, number in KINDS[cast(AlarmKind, kind)].numbers.items():
        try:
            value = float(str(given.get(name, number.usual)).strip().replace(",", ""))
        except ValueError:
            raise RuleRefused(name, f"Write a number for {number.label}.") from None
        if not number.least <= value <= number.most:  # NaN is not between either
            raise RuleRefused(name, f"{number.label}: from {number.least:g} to {number.most:,.0f}.")
        numbers[name] = value
    return numbers


def save_rule(
    *, name: str, kind: str, params: Mapping[str, Any], webhook: str, person_id: int | None, now: datetime,
    rule_id: int | None = None,
) -> tuple[RuleRow, str | None]:  # fmt: skip
    """Keep a rule, new or changed; with it the secret that signs its webhook, where one was made just now. Raises
    RuleRefused, or NotFound for a rule that is gone."""
    title = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    if not title or len(title) > MOST_NAME:
        raise RuleRefused("name", f"Give the rule a name of at most {MOST_NAME} characters.")
    values = {"name": title, "kind": kind, "params": checked(kind, params), "webhook": checked_address(webhook)}
    if rule_id is None:
        if AlertRuleRecord.objects.count() >= MOST_RULES:
            raise RuleRefused("name", f"There are {MOST_RULES} rules already; remove one first.")
        record = AlertRuleRecord(person_id=person_id, created_at=now)
    else:
        record = _record(rule_id)
    secret = None
    if values["webhook"] and not record.secret:
        secret = record.secret = secrets.token_hex(32)
    for column, value in values.items():
        setattr(record, column, value)
    record.save()
    return _row(record), secret


def checked_address(text: str) -> str:
    """The address of a webhook as it is kept, or empty; whether it may be called is asked when it is. Raises
    RuleRefused."""
    address = text.strip()
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_whole = False
    if not is_whole or len(address) > MOST_ADDRESS or any(char.isspace() for char in address):
        raise RuleRefused("webhook", "Write the webhook's whole address, such as https://example.org/hook.")
    if is_inside(parts.hostname or ""):
        raise RuleRefused(
            "webhook",
            f"{parts.hostname} is an address inside; set CONTEXTVIZ_WEBHOOK_PRIVATE=1 to allow such webhooks.",
        )
    if "@" in parts.netloc:
        raise RuleRefused("webhook", "Leave name and password out of the webhook's address; the call is signed.")
    try:
        url_of(address)
    except ValueError:
        raise RuleRefused(
            "webhook",
            "The webhook's host is no name or number that can be called; write it as https://example.org/hook.",
        ) from None
    return address


def is_inside(host: str) -> bool:
    """Whether a host is a literal address, or a name, that no webhook may call here; other names are looked up when
    they are called."""
    if settings.WEBHOOK_PRIVATE:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(ipaddress.ip_address(host))
    except ValueError:
        return False


def list_rules() -> list[RuleRow]:
    """Every rule, by name. One query."""
    return [_row(record) for record in AlertRuleRecord.objects.order_by("name", "pk")]


def find_rule(rule_id: int) -> RuleRow:
    """One rule; raises NotFound."""
    return _row(_record(rule_id))


def switch_rule(rule_id: int, *, is_on: bool) -> None:
    """Switch a rule on or off; raises NotFound."""
    record = _record(rule_id)
    record.is_on = is_on
    record.save(update_fields=["is_on"])


def remove_rule(rule_id: int) -> None:
    """Remove a rule with its alerts; raises NotFound."""
    _record(rule_id).delete()


def _record(rule_id: int) -> AlertRuleRecord:
    found = AlertRuleRecord.objects.filter(pk=rule_id).first()
    if found is None:
        raise NotFound("There is no such rule any more.")
    return found


def _row(record: AlertRuleRecord) -> RuleRow:
    kind = cast(AlarmKind, record.kind)
    return RuleRow(
        record.pk, record.name, kind, dict(record.params), record.is_on, record.webhook, record.person_id,
        record.created_at,
    )  # fmt: skip
