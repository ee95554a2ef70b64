"""Replays as plain values: the object of `--json` and the lines of `--snapshots` (docs/replay.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from contextviz.cli.replay.measuring import Measured
from contextviz.cli.replay.reading import Opened
from contextviz.events.compaction import SummaryNode
from contextviz.events.javascript import length16
from contextviz.events.run import Run, RunBoundary, RunCall, RunOriginal
from contextviz.events.text import TextPool, digest_of, sanitised
from contextviz.tokens.estimators import ESTIMATORS

SCHEMA = "contextviz.replay/1"
# What stands for half a character, where an engine cut one in two.
SHOWN_WITH = "\ufffd"
Json = dict[str, object]


def report_json(opened: Opened | None, runs: list[Measured], estimates: Json) -> Json:
    """The whole object."""
    return {
        "schema": SCHEMA,
        "session": None if opened is None else _session_json(opened),
        "runs": [_run_json(opened, one) for one in runs] if opened is not None else [],
        "estimates": estimates,
    }


def _session_json(opened: Opened) -> Json:
    session, material = opened.transcript.session, opened.material
    return {
        "id": session.id,
        "format": session.format,
        "agent": material.agent or None,
        "model": material.model,
        "messages": len(material.messages),
        "roles": dict(Counter(message.role for message in material.messages)),
        "turns": material.messages[-1].turn if material.messages else 0,
        "calls": len(material.points),
        "entries": [message.id for message in material.messages],
        "window": material.window,
        "system_tokens": material.system_tokens,
        "system_basis": material.system_basis,
    }


def _run_json(opened: Opened, one: Measured) -> Json:
    run, measured = one.run, one.run.measured
    return {
        "engine": run.engine,
        "version": run.version,
        "label": run.label,
        "settings": plain(run.settings),
        "notes": [sanitised(note)[0] for note in run.notes],
        "measured": {
            "window": measured.window or None,
            "reserve": measured.reserve,
            "system_tokens": measured.system_tokens,
            "estimator": measured.estimator,
            "basis": measured.basis,
        },
        "qualities": run.qualities,
        "summariser": run.summariser,
        "scorer": run.scorer,
        "calls": [_call_json(call) for call in run.calls],
        "boundaries": [_boundary_json(boundary) for boundary in run.boundaries],
        "nodes": [_node_json(node) for node in run.nodes],
        "blocks": list(_blocks(opened, run)),
        "originals": list(_originals(opened, run)),
        "events": dict(sorted(Counter(event.type for event in run.events).items())),
        "left_out_events": run.left_out_events,
        "scorecard": one.card.as_json(),
        "hash": run.hash,
    }


def _call_json(call: RunCall) -> Json:
    return {
        "index": call.index,
        "model_call": call.model_call,
        "messages": call.messages,
        "items": call.items,
        "tokens": call.tokens,
        "engine_tokens": call.engine_tokens,
        "kept_items": call.kept_items,
        "kept_tokens": call.kept_tokens,
        "broken_by": call.broken_by,
        "is_over": call.is_over,
        "mode": call.mode,
        "hash": call.hash,
    }


def _boundary_json(boundary: RunBoundary) -> Json:
    compaction = boundary.compaction
    return {
        "number": compaction.number,
        "kind": compaction.kind,
        "trigger": compaction.trigger,
        "reason": compaction.summary_note,
        "messages": boundary.messages,
        "before_call": compaction.before_call,
        "after_call": compaction.after_call,
        "tokens_before": compaction.tokens_before,
        "tokens_after": compaction.tokens_after,
        "estimator": boundary.basis,
        "dropped": list(boundary.dropped),
        "nodes": list(boundary.nodes),
        "summariser_calls": boundary.summariser_calls,
        "data": plain(boundary.data),
    }


def _node_json(node: SummaryNode) -> Json:
    return {
        "id": node.id,
        "kind": node.kind,
        "depth": node.depth,
        "tokens": node.tokens,
        "made_from": list(node.made_from),
        "consumers": list(node.consumers),
        "covers": [int(seq) for seq in node.covers],
        "in_context": node.in_context,
        "chars": node.text.chars,
        "sha256": node.text.sha256,
    }


def _blocks(opened: Opened, run: Run) -> Iterator[Json]:
    """What the engine made smaller (or larger) of single blocks, each with the entry that it was."""
    messages = opened.material.messages
    by_call = {
        piece.tool_call_id: message.seq
        for message in messages
        for piece in message.pieces
        if piece.kind == "tool_result" and piece.tool_call_id
    }
    by_handle = {original.handle: original.seq for original in run.originals}
    for event in run.events:
        if event.type != "block.compressed":
            continue
        seq = by_call.get(str(event.data.get("callId")), by_handle.get(str(event.data.get("hash"))))
        yield {
            **plain(event.data),
            "seq": seq,
            "entry": messages[seq].id if seq is not None else None,
            "quality": event.quality,
            "shownWith": SHOWN_WITH if event.data.get("loneSurrogate") else None,
        }


def _originals(opened: Opened, run: Run) -> Iterator[Json]:
    """What can be got back, with the entries that it is byte for byte."""
    wanted = {original.text.digest for original in run.originals}
    same: dict[bytes, list[str]] = defaultdict(list)
    for message in opened.material.messages:
        texts = {piece.text for piece in message.pieces if piece.text} | {message.text}
        for digest in {piece.ref.digest for piece in message.pieces if piece.ref} | {
            digest_of(sanitised(text)[0]) for text in texts
        }:
            if digest in wanted and message.id is not None:
                same[digest].append(message.id)
    for original in run.originals:
        text = _verified(original, opened.pool)
        yield {
            "handle": original.handle,
            "seq": original.seq,
            "entry": None if original.seq is None else opened.material.messages[original.seq].id,
            "chars": None if text is None else length16(text),
            "bytes": original.text.size,
            "sha256": original.text.sha256,
            "is_verified": text is not None,
            "identical_to": same[original.text.digest],
        }


def _verified(original: RunOriginal, pool: TextPool) -> str | None:
    """The text that comes back, None where its bytes do not have the hash that they are kept under."""
    try:
        text = pool.get(original.text)
    except KeyError:
        return None
    return text if digest_of(text) == original.text.digest else None


def snapshot_lines(opened: Opened, run: Run) -> Iterator[Json]:
    """One object for every call of a run, in order; tokens are by the run's estimator, null for images."""
    count, pool = ESTIMATORS[run.measured.estimator], opened.pool
    known: dict[int, Json] = {}
    for call in run.calls:
        positions = run.log.positions(call.index)
        for position in positions:
            if position not in known:
                item = run.log.table.items[position]
                text = pool.get(item.text)
                is_image = item.kind == "image"
                known[position] = {
                    "role": item.role,
                    "kind": item.kind,
                    "entry": item.entry,
                    "text": text,
                    "tokens": None if is_image else count(text),
                    "basis": "unknown" if is_image else "estimated",
                    "state": item.state,
                    "reason": item.reason,
                }
        yield {
            "session": opened.transcript.session.id,
            "agent": None,
            "engine": run.key,
            "call": call.index,
            "model_call": call.model_call,
            "hash": call.hash,
            "basis": "replay",
            "items": [known[position] for position in positions],
        }


def plain(data: Mapping[str, Any]) -> Json:
    """Values that can be written as JSON: lone surrogates, which engines cut out of emoji, as U+FFFD; numbers beyond 64
    bits as they are nearest to."""
    return {key: _plain(value) for key, value in data.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return sanitised(value)[0]
    return float(value) if isinstance(value, int) and abs(value) >= 1 << 63 else value
