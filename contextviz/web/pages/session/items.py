"""Items of a window as lists show them: named, with tokens that add up to their category's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextviz.analysis.composition import Category, Composition, Shares, shares_of
from contextviz.analysis.transcript import call_arguments, one_line, tool_line
from contextviz.charts import words
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextRef
from contextviz.store.values import Window, WindowItem
from contextviz.web.pages.held import READER
from contextviz.web.pages.session.shown import quiet

NAME_CHARS = 60
BASELINE_NAMES = {
    "system": "System prompt, not in the transcript",
    "tools": "Tool definitions, not in the transcript",
    "both": "System prompt and tool definitions, not in the transcript",
}


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item as components/item.html draws it."""

    # DOM id
    id: str
    # Its place: "4", "+4" where it is new, "−" where it is gone
    order: str
    # The category of its swatch
    category: str
    # What it is, in a few words
    name: str
    # State and reason
    why: str
    # Window tokens: its estimate, scaled as its category is
    tokens: int | None
    # Where it leads, "" where it has no message
    url: str
    # new, gone, or nothing
    change: str
    # A loss state, where one is known
    loss: str = ""


def scale_of(window: Window, composition: Composition) -> Shares:
    """The tokens of a window's items, which add up to their categories'."""
    return shares_of(refs_of(window.items), composition)


def baseline_row(scale: Shares, composition: Composition) -> ItemRow | None:
    """What the transcript does not hold, as an item: the first prompt's remainder."""
    if scale.baseline_category is None or not scale.baseline:
        return None
    other: Category = "tools" if scale.baseline_category == "system" else "system"
    key = "both" if composition.parts[other] is None else scale.baseline_category
    return ItemRow(
        "i-0", "", scale.baseline_category, BASELINE_NAMES[key], "derived, not logged", scale.baseline, "", ""
    )


@dataclass(frozen=True, slots=True)
class Namer:
    """Names items by their words. Made for the items that are shown; two queries."""

    lines: dict[bytes, str]
    calls: dict[str, ContextItem]

    @classmethod
    def of(cls, shown: Iterable[ContextItem], everything: Iterable[ContextItem]) -> Namer:
        """A namer for `shown`; a result is named by its call, looked for in `everything`."""
        wanted = {item.tool_call_id for item in shown if item.kind == "tool_result" and item.tool_call_id}
        calls = {
            item.tool_call_id: item
            for item in everything
            if item.kind == "tool_call" and item.tool_call_id in wanted and item.tool_call_id
        }
        refs: list[TextRef] = [item.text for item in (*shown, *calls.values()) if item.text.size]
        opened = READER.beginnings(refs, chars=2000)
        return cls({digest: quiet(one.text) for digest, one in opened.items()}, calls)

    def name(self, item: ContextItem) -> str:
        """The item in a few words."""
        text = self.lines.get(item.text.digest, "")
        if item.kind == "image":
            return f"Image, {words.size(item.media_bytes)}"
        if item.kind == "tools":
            return f"Tool definitions {item.tool_name or ''}".strip()
        if item.kind == "system":
            return "System prompt"
        if item.kind == "tool_call":
            return self._call(item)
        if item.kind == "tool_result" or item.role == "tool":
            call = self.calls.get(item.tool_call_id or "")
            about = self._about(call) if call else ""
            return one_line(f"Result: {about}", NAME_CHARS) if about else f"Result of {item.tool_name or 'a tool'}"
        said = one_line(text, NAME_CHARS)
        if item.kind == "summary" or item.state == "summary":
            return f"Summary: {said}"
        return f"“{said}”" if said else f"{item.kind} without words".capitalize()

    def _call(self, item: ContextItem) -> str:
        return one_line(f"{item.tool_name or 'Tool'} {self._about(item)}", NAME_CHARS)

    def _about(self, item: ContextItem) -> str:
        name, arguments = call_arguments(self.lines.get(item.text.digest, ""))
        return one_line(short_path(tool_line(name or "", arguments)), NAME_CHARS) if name else ""


def short_path(text: str) -> str:
    """The end of a path, which tells it apart; anything else as it is."""
    parts = text.split("/")
    return "/".join(parts[-2:]) if len(parts) > 3 and " " not in text else text


def why_of(item: ContextItem) -> str:
    """State and reason, in a few words."""
    return (
        (item.reason or item.state) if item.state in item.reason or not item.reason else f"{item.state}, {item.reason}"
    )


def refs_of(items: Sequence[WindowItem]) -> list[ContextItem]:
    """The items alone."""
    return [one.item for one in items]
