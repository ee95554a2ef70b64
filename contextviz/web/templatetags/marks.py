"""Tags for the small pictures: icons, basis, state, loss, swatches, meters. Each has its words beside or behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from contextviz.charts import palette, words
from contextviz.charts.composition import laid
from contextviz.web.templatetags.numbers import UNKNOWN

register = template.Library()

BASES = {"reported": "reported", "derived": "derived", "estimated": "estimated", "unknown": "unknown"}
STATES = {
    "running": "running",
    "waiting": "waiting for the user",
    "idle": "idle",
    "error": "ended with an error",
    "compacting": "compacting",
}
LOSSES = ("kept", "variant", "recoverable", "stale", "lost")
SUPPORT = ("no support found", "weak support", "partly supported", "supported")


@register.simple_tag
@lru_cache(maxsize=1024, typed=True)  # labels are our own words; a page has hundreds of the same marks
def icon(name: str, label: str = "") -> SafeString:
    """An icon of static/icons.svg; with a label it has a name of its own, else it is hidden from readers."""
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"/></svg>', label, static("icons.svg"), name
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
@lru_cache(maxsize=8, typed=True)
def basis(name: str | None) -> SafeString:
    """The mark after a unit: ● reported, ◐ derived, ~ estimated, nothing but a word for readers where unknown."""
    known = BASES.get(name or "unknown", "unknown")
    return format_html('<i class="basis {0}" role="img" aria-label="{0}" title="{0}"></i>', known)


@register.simple_tag
@lru_cache(maxsize=64, typed=True)
def swatch(key: str) -> SafeString:
    """The coloured shape of a category. Its name must stand beside it."""
    found = palette.category(key)
    colour = found.key if found.key in palette.BY_KEY else "system"
    return format_html('<i class="swatch {} c-{}" aria-hidden="true"></i>', found.shape, colour)


@register.filter
def category_name(key: str) -> str:
    """The words for a category's key."""
    return palette.category(key).name


@register.simple_tag
def state(name: str | None) -> SafeString:
    """A session's state as a 12 px mark with its words for readers."""
    known = name if name in STATES else "idle"
    return format_html(
        '<svg class="icon state {0}" role="img" aria-label="{1}"><use href="{2}#{0}"/></svg>',
        known,
        STATES[known],
        static("icons.svg"),
    )


@register.simple_tag
def loss(name: str, count: int | None = None) -> SafeString:
    """The mark of a loss state with its word, never without; "96 kept" with a count."""
    known = name if name in LOSSES else "lost"
    text = name if count is None else f"{words.tokens(count)} {name}"
    mark = format_html(
        '<svg class="loss-mark" aria-hidden="true"><use href="{}#loss-{}"/></svg>', static("icons.svg"), known
    )
    return format_html('<span class="loss {}">{}{}</span>', known, mark, text)


@register.simple_tag
def support(level: int) -> SafeString:
    """Three rising bars: how well a sentence of a summary is supported, from 3 down to 0."""
    known = min(max(level, 0), 3)
    return format_html(
        '<svg class="support s{0}" role="img" aria-label="{1}"><use href="{2}#support-{0}"/></svg>',
        known,
        SUPPORT[known],
        static("icons.svg"),
    )


@register.simple_tag
def compactions(count: int | None, zero: str = "") -> SafeString:
    """⟳n in orange ink; `zero` (nothing, or "0" in a column) at 0, an em dash when unknown."""
    if count is None:
        return UNKNOWN
    if not count:
        return format_html("{}", zero)
    return format_html(
        '<span class="compactions"><span aria-hidden="true">⟳{0}</span><span class="visually-hidden">{1}</span></span>',
        count,
        words.counted(count, "compaction"),
    )


@register.simple_tag
def meter(used: int | None, window: int | None, threshold: int | None = None, text: str = "percent") -> SafeString:
    """The fill of a window with a tick at the session's own threshold (tokens).

    `text`: "percent", "none", or "tokens" for "78.9 / 200.0". An unknown window draws no bar and says so.
    """
    if not window or used is None:
        missing = "window not reported" if not window else "use not reported"
        return format_html('<span class="no-window"><span aria-hidden="true">—</span> {}</span>', missing)
    share = used / window
    tick = format_html('<i class="tick" style="left:{}%"></i>', _css(threshold / window)) if threshold else ""
    high = " high" if share >= 0.75 else ""
    label = f"{words.tokens(used)} of {words.tokens(window)} tokens, {words.percent(share)}"
    if threshold:
        label += f"; compacts at {words.tokens(threshold)}"
    bar = format_html(
        '<span class="meter{}" role="img" aria-label="{}"><i class="bar" style="width:{}%"></i>{}</span>',
        high,
        label,
        _css(share),
        tick,
    )
    if text == "none":
        return bar
    if text == "tokens":
        return format_html(
            '{}<span class="pct" aria-hidden="true"><b>{}</b> / {}</span>',
            bar,
            f"{used / 1000:,.1f}",
            f"{window / 1000:,.1f}",
        )
    return format_html('{}<span class="pct" aria-hidden="true">{}</span>', bar, words.percent(share, 0))


def _css(share: float) -> str:
    return f"{min(max(share, 0.0), 1.0) * 100:.1f}"


@register.simple_tag
def stack_bar(parts: Mapping[str, int | None], window: int | None = None, reported: int | None = None) -> SafeString:
    """One bar of coloured parts, in stack order, against the window (or their own sum when it is unknown).

    It ends at the reported prompt: what that has above the parts is grey, and what of the parts hangs over it is
    hatched behind a line.
    """
    found = laid(list(parts.values()), reported)
    whole = max(window or 0, found.top)
    names = [category_name(key) for key in parts]
    inside = [
        (f"c-{key}", value, f"{name}, {words.tokens(parts[key])}")
        for key, name, value in zip(parts, names, found.within, strict=True)
    ]
    inside.append(("residual", found.rest, f"Residual, {words.signed(found.rest)}"))
    over = [
        (f"c-{key} over", value, f"{name}, {words.tokens(value)} over the report")
        for key, name, value in zip(parts, names, found.beyond, strict=True)
    ]
    said = [f"{name} {words.tokens(value)}" for name, value in zip(names, parts.values(), strict=True) if value]
    residual = found.rest - found.over
    said += [f"residual {words.signed(residual)}", f"reported {words.tokens(reported)}"] if residual else []
    runs = [_run(inside, whole), _run(over, whole, "beyond")]
    return format_html(
        '<span class="stack-bar" role="img" aria-label="{}">{}</span>',
        ", ".join(said) or "nothing known",
        format_html_join("", "{}", ((run,) for run in runs)),
    )


def _run(pieces: Sequence[tuple[str, int | None, str]], whole: int, name: str = "") -> SafeString:
    """Neighbouring pieces of a bar in a box of their width: slivers that are drawn a pixel wide do not lengthen it."""
    shown = [(css, value, title) for css, value, title in pieces if value and value > 0]
    if not shown or not whole:
        return SafeString("")
    inner = format_html_join("", '<i class="{}" style="flex-grow:{}" title="{}"></i>', shown)
    width = f"{sum(value or 0 for _, value, _ in shown) / whole * 100:.2f}"
    return format_html('<span class="{}" style="width:{}%">{}</span>', name or "within", width, inner)
