"""One page of the transcript: neighbouring messages, with the compactions that stand between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from contextviz.events.compaction import Compaction
from contextviz.events.message import Message, ToolPair
from contextviz.events.text import TextRef
from contextviz.store.queries import calls, messages
from contextviz.store.values import MessagePage
from contextviz.web.pages.held import READER
from contextviz.web.pages.session.boundaries import CompactionRow, Surroundings, compaction_row, previews
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.session.rows import FOLDED_CHARS, Maker, Result, Row
from contextviz.web.pages.session.shown import LEVELS, level_for
from contextviz.web.pages.session.traces import held_among, with_state

PAGE_MESSAGES = 100
PAGE_BLOCKS = 110
PAGE_CHARS = 44_000
PAGE_BYTES = 70_000  # of HTML for texts; with the markup round them a page stays below 150 KB
ROW_MARKUP = 320
LINE_BYTES = 100  # of a row's line and facts
LEAST_COMPARED = 3  # summaries, to find the words that all of them begin with
LEAD = 8  # messages shown before the one that is jumped to


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """A page of the transcript."""

    # Rows and compactions in the order they happened
    entries: tuple[Row | CompactionRow, ...]
    # Where the page before and the page after are, "" at the ends
    earlier: str
    later: str
    # Where the first page and the last page are, "" on them
    first_url: str
    last_url: str
    # The index of the last message shown, -1 where there is none: what following goes on from
    last: int
    # Whether the page ends at the session's end, so that new messages belong after it
    is_end: bool
    # Messages shown, and in all
    shown: int
    total: int
    # Compactions of this window whose place in the transcript is not known
    unplaced: int


def transcript_page(
    place: Place, compactions: Sequence[Compaction], *, total: int, around: Surroundings
) -> TranscriptPage:
    """The page that `place` asks for: the last one where it names none."""
    page = _messages(place)
    listed, before, after = _bounded(page, place)
    start = listed[0].index if listed else None
    listed = _without_led_in(place.session_id, listed) if before is not None else listed
    found = entries_of(listed, place, compactions, is_end=after is None, around=around, start=start)
    mine = [one for one in compactions if one.agent == place.agent]
    bare = replace(place, call=None, message=None, before=None, after=None)
    return TranscriptPage(
        found,
        bare.url(before=before) if before is not None else "",
        bare.url(after=after) if after is not None else "",
        bare.url(after=-1) if before is not None else "",
        bare.url(before=END) if after is not None else "",
        listed[-1].index if listed else -1,
        after is None,
        len(listed),
        total,
        sum(not _has_place(one) for one in mine),
    )


def _messages(place: Place) -> MessagePage:
    own = {"limit": PAGE_MESSAGES, "agent": place.agent, "only_agent": True}
    jump = place.message
    turned = place.after is not None or place.before is not None
    call = place.call if place.call is not None or turned else place.b
    if jump is None and call is not None:
        jump = calls.get_call(place.session_id, call - 1).message_index
    if jump is not None:
        return messages.messages(place.session_id, after=jump - LEAD - 1 if jump > LEAD else None, **own)  # type: ignore[arg-type]
    if place.after is not None:
        return messages.messages(place.session_id, after=place.after if place.after >= 0 else None, **own)  # type: ignore[arg-type]
    return messages.messages(place.session_id, before=END if place.before is None else place.before, **own)  # type: ignore[arg-type]


END = 2**53


def _bounded(page: MessagePage, place: Place) -> tuple[list[Message], int | None, int | None]:
    """Fewer messages where they hold very many blocks: the page's size must not follow them."""
    listed, before, after = page.messages, page.before, page.after
    jumps = place.call is not None or place.message is not None or (place.b is not None and place.before is None)
    backwards = place.after is None and not jumps
    if backwards and (place.before is None or place.before >= END):
        after = None
    ordered = list(reversed(listed)) if backwards else listed
    kept: list[Message] = []
    blocks = 0
    for message in ordered:
        blocks += max(1, len(message.blocks))
        if kept and blocks > PAGE_BLOCKS:
            break
        kept.append(message)
    if len(kept) == len(listed):
        return listed, before, after
    if backwards:
        kept.reverse()
        return kept, kept[0].index, after
    return kept, before, kept[-1].index


def _without_led_in(session_id: int, listed: list[Message]) -> list[Message]:
    """Without the results that a page begins with: they stand with their calls, on the page before."""
    first = next((at for at, message in enumerate(listed) if message.role != "tool"), len(listed))
    leading = [message.index for message in listed[:first]]
    pairs = messages.tool_pairs(session_id, leading)
    known = {pair.result_message for pair in pairs if pair.call_message < leading[0]}
    return [message for message in listed if message.index not in known]


def entries_of(
    listed: Sequence[Message], place: Place, compactions: Sequence[Compaction], *, is_end: bool, around: Surroundings,
    start: int | None = None, among: Sequence[Compaction] = (),
) -> tuple[Row | CompactionRow, ...]:  # fmt: skip
    """The rows of these messages, with the compactions between them; `start` is where the page begins, if not with
    the first of them. `among` are others of the session: what their summaries begin with too is no preview. Five
    queries at most."""
    results = _results(place.session_id, listed)
    own = [one for one in compactions if one.agent == place.agent and _has_place(one)]
    spots = _spots(listed, own, is_end, start)
    drawn = [one for found in spots.values() for one in found]
    compared = _compared(drawn, [*own, *(one for one in among if one.agent == place.agent)])
    refs = _refs(listed, results, drawn)
    texts = READER.raw([*refs, *(one.summary for one in compared if one.summary is not None)])
    heads = previews(compared, texts)
    open_ones = {block.text.digest for message in listed for block in message.blocks if block.kind == "text"}
    # What stands round the texts takes its share, so that the first level tried is mostly the last one.
    left = PAGE_BYTES - (ROW_MARKUP + LINE_BYTES) * sum(max(1, len(message.blocks)) for message in listed)
    sizes = ((ref.chars, LEVELS[0] if ref.digest in open_ones else FOLDED_CHARS) for ref in refs)
    start = level_for(sizes, min(PAGE_CHARS, left))
    waits_from = _waits_from(listed) if is_end and around.has_results else None
    found: list[Row | CompactionRow] = []
    for level in (one for one in LEVELS if one <= start):
        maker = Maker(place.session_id, texts, level, place.is_raw, waits_from)
        found = _entries(listed, results, spots, place, around, maker, heads)
        if sum(row.size + ROW_MARKUP for row in found if isinstance(row, Row)) <= PAGE_BYTES:
            break
    return tuple(_with_originals(found))


def _waits_from(listed: Sequence[Message]) -> int | None:
    """The first message of the session's end whose calls may still be answered: once the model or the person goes on
    in words, what has no result gets none."""
    words = (one.index for one in reversed(listed) if one.is_human or _says(one))
    return next(words, listed[0].index if listed else None)


def _says(message: Message) -> bool:
    return message.role == "assistant" and any(block.kind == "text" for block in message.blocks)


def _with_originals(found: list[Row | CompactionRow]) -> list[Row | CompactionRow]:
    """Rows whose originals say whether they are held. One query where a row names any, else none."""
    held = held_among(link for row in found if isinstance(row, Row) for link in row.originals)
    return [
        replace(row, originals=with_state(row.originals, held)) if isinstance(row, Row) and row.originals else row
        for row in found
    ]


def _entries(
    listed: Sequence[Message], results: Mapping[tuple[int, int], Result], spots: Mapping[int, list[Compaction]],
    place: Place, around: Surroundings, maker: Maker, heads: Mapping[bytes, bytes],
) -> list[Row | CompactionRow]:  # fmt: skip
    merged = frozenset(result.place for result in results.values())
    found: list[Row | CompactionRow] = []
    pending: int | None = None
    is_answered = False
    for message in listed:
        for one in spots.get(message.index, ()):
            found.append(compaction_row(one, place, around, heads))
            pending = None
        if message.is_human and is_answered:  # what is before was answered by a call that no usage is known of
            pending = None
        rows = maker.rows(message, results, merged)
        if rows and pending is None:
            pending = len(found)
        found += rows
        if message.call_index is not None:
            _number(found, pending, message.call_index + 1, place.session_id)
            pending = None
        is_answered = message.role == "assistant" and message.call_index is None
    found += [compaction_row(one, place, around, heads) for one in spots.get(END, ())]
    return found


def _number(found: list[Row | CompactionRow], at: int | None, call: int, session_id: int) -> None:
    """Give the call's number to the first row of what led to it; answers go on without one."""
    if at is not None:
        row = found[at]
        numbered = {one.call for one in found if isinstance(one, Row)}
        if isinstance(row, Row) and row.call is None and call not in numbered:
            found[at] = replace(row, call=call, call_url=reverse("call", args=[session_id, call]))


def _results(session_id: int, listed: Sequence[Message]) -> dict[tuple[int, int], Result]:
    """Results by the place of their call, for the calls among these messages."""
    here = {message.index: message for message in listed}
    pairs: list[ToolPair] = [
        pair for pair in messages.tool_pairs(session_id, list(here))
        if pair.call_message in here and pair.result_message is not None and pair.result_block is not None
    ]  # fmt: skip
    beyond = {pair.result_message for pair in pairs if pair.result_message is not None} - here.keys()
    there = here | messages.messages_at(session_id, beyond)
    found = {}
    for pair in pairs:
        message = there.get(pair.result_message if pair.result_message is not None else -1)
        if message is not None and pair.result_block is not None and pair.result_block < len(message.blocks):
            place = (message.index, pair.result_block)
            found[(pair.call_message, pair.call_block)] = Result(message, place, message.blocks[pair.result_block])
    return found


def _refs(
    listed: Sequence[Message], results: dict[tuple[int, int], Result], compactions: Sequence[Compaction]
) -> list[TextRef]:
    refs = [block.text for message in listed for block in message.blocks]
    refs += [result.block.text for result in results.values()]
    refs += [one.summary for one in compactions if one.summary is not None]
    return list({ref.digest: ref for ref in refs if ref.size}.values())


def _compared(drawn: Sequence[Compaction], own: Sequence[Compaction]) -> list[Compaction]:
    """The compactions to draw, and the last others of the window where these are few: what every summary begins with
    is seen only beside another."""
    if not drawn:
        return []
    there = {one.number for one in drawn}
    others = {one.number: one for one in own if one.summary is not None and one.number not in there}
    many = max(0, LEAST_COMPARED - len(drawn))
    return [*drawn, *(list(others.values())[-many:] if many else ())]


def _has_place(one: Compaction) -> bool:
    return one.message_index is not None or one.before_call is not None or one.after_call is not None


def _spots(
    listed: Sequence[Message], own: Sequence[Compaction], is_end: bool, start: int | None
) -> dict[int, list[Compaction]]:
    """The compactions to draw before each of these messages; under END those after the last one."""
    spots: dict[int, list[Compaction]] = {}
    if not listed:
        return {END: list(own)} if is_end and own else {}
    openers = _openers(listed)
    for one in own:
        at = one.message_index
        if at is None and one.after_call is not None:
            at = openers.get(one.after_call)
        elif at is None and is_end:
            at = END
        if at is None:
            continue
        if at > listed[-1].index:
            if is_end:
                spots.setdefault(END, []).append(one)
        elif at >= (listed[0].index if start is None else start):
            spots.setdefault(next(message.index for message in listed if message.index >= at), []).append(one)
    return spots


def _openers(listed: Sequence[Message]) -> dict[int, int]:
    """Of each call the message that opens it: the person's prompt before it, else its own answer."""
    found: dict[int, int] = {}
    prompt: int | None = None
    is_answered = False
    for message in listed:
        if message.call_index is not None:
            found.setdefault(message.call_index, message.index if prompt is None else prompt)
            prompt = None
        elif message.is_human and (prompt is None or is_answered):
            prompt = message.index
        is_answered = message.role == "assistant" and message.call_index is None
    return found
