"""Filters for numbers and times. None is an em dash that readers hear as "unknown"; 0 stays 0."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from contextviz.charts import words

register = template.Library()

# A name that a template does not know arrives as "" and is as unknown as None.
Number = float | str | None
UNKNOWN = mark_safe('<span class="unknown" role="img" aria-label="unknown">—</span>')


@register.filter
def tokens(value: Number, form: str = "") -> str | SafeString:
    """{{ n|tokens }} is 1,940; {{ n|tokens:"compact" }} is 167.8 k; None is an em dash read out as "unknown"."""
    if value is None or isinstance(value, str):
        return UNKNOWN
    return words.compact(value) if form == "compact" else words.tokens(value)


@register.filter
def signed(value: Number, form: str = "") -> str | SafeString:
    """A difference with its sign; "compact" as in `tokens`."""
    if value is None or isinstance(value, str):
        return UNKNOWN
    return words.signed_compact(value) if form == "compact" else words.signed(value)


@register.filter
def percent(share: Number, digits: int = 1) -> str | SafeString:
    """A share between 0 and 1 as a percentage."""
    return UNKNOWN if share is None or isinstance(share, str) else words.percent(share, digits)


@register.filter(name="bytes")
def size(value: Number) -> str | SafeString:
    """A number of bytes in the unit that suits it."""
    return UNKNOWN if value is None or isinstance(value, str) else words.size(round(value))


@register.filter
def duration(seconds: Number) -> str | SafeString:
    """A length of time in its two largest units."""
    return UNKNOWN if seconds is None or isinstance(seconds, str) else words.duration(seconds)


@register.filter
def money(dollars: Number) -> str | SafeString:
    """An amount of US dollars."""
    return UNKNOWN if dollars is None or isinstance(dollars, str) else words.money(dollars)


@register.filter
def dash(value: object) -> object:
    """The value itself, or an em dash read out as "unknown" for None and the empty text. 0 stays 0."""
    return UNKNOWN if value is None or value == "" else value


@register.filter
def when(value: datetime | str | None, form: str = "full") -> str | SafeString:
    """A <time> in the current zone. Forms: full (30 Nov 2026 02:50), short (just now, 6 min, 19:04, Tue 16:40,
    30 Nov 2025), clock (14:31), seconds (14:31:07), feed (the same, with the date where it is not today's: 30 Nov
    14:31:07), day (Today, Yesterday, Monday 23 Nov).

    Text that is no time is shown as it is.
    """
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, str):
        try:
            given = datetime.fromisoformat(value)
        except ValueError:
            return value
    else:
        given = value
    moment = given if given.tzinfo else given.replace(tzinfo=UTC)
    local = timezone.localtime(moment)
    shown = _spelled(local, timezone.localtime(timezone.now()), form)
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), _exact(moment), shown)


@register.filter
def told(shown: datetime, own: datetime | None) -> SafeString:
    """A feed's <time>: when it was told, as `when` writes it; where its own time is another, that is the title."""
    if own is None or own == shown:
        return format_html("{}", when(shown, "feed"))
    spelled = _spelled(timezone.localtime(shown), timezone.localtime(timezone.now()), "feed")
    return format_html('<time datetime="{}" title="{}">{}</time>', shown.isoformat(), _exact(own), spelled)


def _exact(moment: datetime) -> str:
    local = timezone.localtime(moment)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def _spelled(local: datetime, now: datetime, form: str) -> str:
    if form == "clock":
        return f"{local:%H:%M}"
    if form == "seconds":
        return f"{local:%H:%M:%S}"
    days = (now.date() - local.date()).days
    if form == "feed":
        year = f" {local.year}" if local.year != now.year else ""
        return f"{local.day}\u00a0{local:%b}{year} {local:%H:%M:%S}" if days else f"{local:%H:%M:%S}"
    if form == "day":
        name = {0: "Today", 1: "Yesterday"}.get(days)
        return name or f"{local:%A} {local.day} {local:%b}" + (f" {local.year}" if local.year != now.year else "")
    if form == "short":
        seconds = (now - local).total_seconds()
        if 0 <= seconds < 60:
            return "just now"
        if 0 <= seconds < 3_600:
            return f"{int(seconds // 60)} min"
        if days in (0, 1):
            return f"{local:%H:%M}"
        if 1 < days < 7:
            return f"{local:%a %H:%M}"
        return f"{local.day} {local:%b}" + (f" {local.year}" if local.year != now.year else f" {local:%H:%M}")
    return f"{local.day} {local:%b %Y %H:%M}"
