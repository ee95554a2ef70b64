"""The window as a session's next call would be given it: the last one, its answer, and what was said since.

Only the end of a session is read: its last call, that call's window, the messages after it and the last compactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextviz.analysis.composition import item_tokens, shares_of
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Message
from contextviz.events.snapshot import ContextItem
from contextviz.services.figures import composition_of
from contextviz.store.queries import calls, messages, snapshots
from contextviz.store.values import SessionRow

MOST_ITEMS = 20_000
MOST_SAID = 500
NEWEST_COMPACTIONS = 5
NO_CALL = "No model call of the main chain is recorded here, so there is no window to ask of."
NO_WINDOW = "The source does not record what the last call was given, and no rule rebuilds it."

NO_PROMPT = "The system prompt and the tools are not in the transcript, so they are part of what is in no record."


@dataclass(frozen=True, slots=True)
class NextWindow:
    """The items in order. `call` is the number of the last call, None without one; `said` how many messages stand
    after its window. `missing` says why there is no window, "" where there is one; `notes` what is uncertain.
    `prompt` is that call's prompt in tokens with its basis, None where it is unknown or is no longer the window, since
    a compaction came after it; `since` are the tokens of what was said since. `tokens` are those of each item, as the
    session's pages show the last call's window (what came later at its scale), and `unlogged` those of what no record
    holds."""

    items: list[ContextItem]
    call: int | None
    said: int = 0
    missing: str = ""
    notes: tuple[str, ...] = ()
    prompt: int | None = None
    prompt_basis: str = "unknown"
    since: int = 0
    tokens: tuple[int, ...] = ()
    unlogged: int = 0
    basis: str = "estimated"

    @property
    def total(self) -> int | None:
        """Tokens of the whole window: the prompt and what was said since; estimated as soon as that part is."""
        return None if self.prompt is None else self.prompt + self.since

    @property
    def total_basis(self) -> str:
        """What `total` is known by."""
        if self.prompt is None:
            return "unknown"
        return "estimated" if self.since else self.prompt_basis


def next_window(row: SessionRow) -> NextWindow:
    """The window of the main chain. Ten queries at most, whatever the session's length."""
    last = calls.last_main_call(row.id)
    if last is None:
        return NextWindow([], None, missing=NO_CALL)
    found = snapshots.find_of_call(row.id, last.index)
    if found is None:
        return NextWindow([], last.index + 1, missing=NO_WINDOW)
    if found.item_count > MOST_ITEMS:
        said = f"The window holds {found.item_count:,} items; this page looks through {MOST_ITEMS:,} at most."
        return NextWindow([], last.index + 1, missing=said)
    items: list[ContextItem] = [one.item for one in snapshots.window(row.id, found.index).items]
    notes = [] if found.basis != "partial" else ["The last window is partly known."]
    composition = composition_of(row.id, last.index)
    shares = shares_of(items, composition)
    sizes = dict(zip(map(id, items), shares.by_place, strict=True))
    after, is_cut = _said_since(row.id, last, items)
    if is_cut:
        notes.append(f"More than {MOST_SAID} messages came since; the first {MOST_SAID} are taken.")
    newer = _newer_compaction(row, last)
    prompt, since = last.usage.prompt_tokens, 0
    if newer is not None:
        items, told = compacted(items, after, newer)
        notes.append(told)
        prompt = None
    else:
        later = [item for message in after for item in items_of(message)]
        since = sum(round(item_tokens(item) * shares.factor) for item in later)
        items.extend(later)
    if not any(map(_is_standing, items)):
        notes.append(NO_PROMPT)
    basis = "unknown" if prompt is None else last.basis
    tokens = tuple(_size(item, sizes, shares.factor) for item in items)
    return NextWindow(
        items, last.index + 1, len(after), notes=tuple(notes), prompt=prompt, prompt_basis=basis, since=since,
        tokens=tokens, unlogged=shares.baseline or 0, basis=composition.scale_basis,
    )  # fmt: skip


def _size(item: ContextItem, sizes: Mapping[int, int], factor: float) -> int:
    """The tokens that the last window has for an item of it (by the object), else its estimate at the same scale."""
    known = sizes.get(id(item))
    return round(item_tokens(item) * factor) if known is None else known


def _said_since(session_id: int, last: ModelCall, items: list[ContextItem]) -> tuple[list[Message], bool]:
    """The answer and what came after it on the main chain, and whether there is more than is taken."""
    held = max((item.message_index for item in items if item.message_index is not None), default=-1)
    # An answer may be no message of its own; then what the window does not hold yet came after it.
    after = held if last.message_index is None else last.message_index - 1
    page = messages.messages(session_id, after=after, limit=MOST_SAID, only_agent=True)
    return [message for message in page.messages if message.on_active_path], page.after is not None


def items_of(message: Message) -> list[ContextItem]:
    """A message's blocks as items of a window."""
    return [
        ContextItem(
            message.role, block.kind, block.text, message.id, message.index, reason="said since the last call",
            is_error=block.is_error, tool_name=block.tool_name, tool_call_id=block.tool_call_id,
            media_bytes=block.media_bytes,
        )
        for block in message.blocks
    ]  # fmt: skip


def _newer_compaction(row: SessionRow, last: ModelCall) -> Compaction | None:
    """The main chain's compaction that no call came after yet, None where there is none."""
    start = max(0, row.compaction_count - NEWEST_COMPACTIONS)
    own = [one for one in calls.compactions(row.id, start=start) if one.agent is None and one.on_active_path]
    newest = own[-1] if own else None
    if newest is None or newest.after_call is not None:
        return None
    return newest if newest.before_call is None or newest.before_call >= last.index else None


def compacted(items: list[ContextItem], said: list[Message], newest: Compaction) -> tuple[list[ContextItem], str]:
    """The window right after a compaction that is newer than the last call, with a sentence. `said` are the messages
    since that call, of which some may stand behind the compaction."""
    if newest.kind not in ("summary", "clear", "reset") or (newest.line is None and newest.message_index is None):
        told = f"Compaction {newest.number} came after the last call; what it took is not known before the next one."
        return [*items, *(item for message in said for item in items_of(message))], told
    kept = set(newest.kept)
    standing = [item for item in items if _is_standing(item)]
    if newest.summary is not None:
        reason = f"summary of compaction {newest.number}"
        standing.append(ContextItem("user", "summary", newest.summary, newest.id, state="summary", reason=reason))
    rest = [item for item in items if not _is_standing(item) and item.entry in kept]
    later = [one for one in said if _is_behind(one, newest) or kept.intersection((one.id, *one.entry_ids))]
    rest.extend(item for message in later for item in items_of(message))
    return [*standing, *rest], f"Compaction {newest.number} came after the last call; its window is taken."


def _is_standing(item: ContextItem) -> bool:
    return item.kind in ("system", "tools") or item.role in ("system", "developer")


def _is_behind(message: Message, newest: Compaction) -> bool:
    if newest.message_index is not None:
        return message.index > newest.message_index
    same = message.file == newest.file and message.line is not None and newest.line is not None
    return same and (message.line or 0) > (newest.line or 0)
