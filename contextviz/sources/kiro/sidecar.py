"""What the document beside the CLI's log tells of its session: title, folder, model, window, and tokens by turn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.session import Transcript
from contextviz.events.times import instant
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.kiro.log import Mark
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.growing import title_of
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_list, as_text

Json = dict[str, Any]


def add(transcript: Transcript, document: Mapping[str, Any], marks: Mapping[int, Mark]) -> None:
    """Put what the document tells into the transcript that is given out."""
    session = transcript.session
    session.title = title_of(as_text(document.get("title")) or "") or session.title
    session.cwd = as_text(document.get("cwd"))
    session.parent = as_id(document.get("parent_session_id"))
    if session.parent is not None:  # what a sub-agent is asked, no person typed
        transcript.messages = [replace(one, is_human=False) if one.is_human else one for one in transcript.messages]
    begun, changed = instant(document.get("created_at")), instant(document.get("updated_at"))
    session.started_at = session.started_at or begun
    session.ended_at = max(filter(None, (session.ended_at, changed)), default=None)
    state = as_dict(document.get("session_state"))
    model = as_dict(as_dict(state.get("rts_model_state")).get("model_info"))
    session.model = as_text(model.get("model_id")) or session.model
    window = as_int(model.get("context_window_tokens"))
    if window:
        session.window, session.window_basis = window, "reported"
    turns = as_list(as_dict(state.get("conversation_metadata")).get("user_turn_metadatas"))
    _add_turns(transcript, list(map(as_dict, turns)), marks)


def _add_turns(transcript: Transcript, turns: list[Json], marks: Mapping[int, Mark]) -> None:
    """A turn of one answer is a call; of a turn with more it is not written which of them used what."""
    by_name = {message.id: message for message in transcript.messages if message.role == "assistant"}
    calls: dict[int, tuple[Json, TokenUsage]] = {}
    loose = []
    for turn in turns:
        share = as_float(turn.get("context_usage_percentage"))
        if share is not None:
            transcript.session.hints["context_usage_percentage"] = f"{share:g}"
        usage = usage_of(turn)
        if usage is None:
            continue
        names = (as_id(one) for one in as_list(turn.get("message_ids")))
        answers = list(dict.fromkeys(name for name in names if name in by_name))
        place = by_name[answers[0]].index if len(answers) == 1 else -1
        if place >= 0 and place not in calls and as_int(turn.get("total_request_count")) in (None, 0, 1):
            calls[place] = turn, usage
        else:
            loose.append(usage)
    last: Mark | None = None
    for place in sorted(calls):
        last = _add_call(transcript, place, *calls[place], marks[place], last)
    transcript.unlogged_usage = sum_usage(loose) if loose else None
    if transcript.calls:
        transcript.compactions = list(_placed(transcript))


def usage_of(turn: Json) -> TokenUsage | None:
    """A turn's tokens; most versions write zeros, which are none."""
    counts = Counts()
    usage = counts.apart(
        counts.prompt(turn.get("input_token_count"), "input_token_count"),
        counts.prompt(turn.get("cache_read_input_token_count"), "cache_read_input_token_count"),
        counts.prompt(turn.get("cache_write_input_token_count"), "cache_write_input_token_count"),
        counts.answer(turn.get("output_token_count"), "output_token_count"),
    )
    return usage if usage.is_real else None


def _add_call(
    transcript: Transcript, place: int, turn: Json, usage: TokenUsage, mark: Mark, last: Mark | None
) -> Mark:  # fmt: skip
    message = transcript.messages[place]
    call = ModelCall(
        len(transcript.calls), message.id, None, instant(turn.get("end_timestamp")), as_text(turn.get("model")),
        usage, message_index=place, entry=message.id, line=message.line,
    )  # fmt: skip
    transcript.calls.append(call)
    transcript.messages[place] = replace(message, call_index=call.index)
    if last is not None and last.items is mark.items:
        transcript.log.add_from(call.index, last.upto, mark.items[last.upto : mark.upto], basis="rules")
    else:
        transcript.log.add(call.index, mark.items[: mark.upto], basis="rules")
    return mark


def _placed(transcript: Transcript) -> Iterator[Compaction]:
    """The compactions with the calls before and after them."""
    lines = [call.line or 0 for call in transcript.calls]
    for one in transcript.compactions:
        before = bisect_left(lines, one.line or 0)
        yield replace(
            one, before_call=before - 1 if before else None, after_call=before if before < len(lines) else None
        )
