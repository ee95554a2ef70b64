"""Reads `.traj` files of SWE-agent and of mini-swe-agent."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from contextviz.events.engine_event import EngineEvent, Scalar
from contextviz.events.session import Session, SubAgent, Transcript
from contextviz.events.usage import TokenUsage
from contextviz.sources.features import declared
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.load import load, read_whole
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.swe_agent.history import HistoryReader
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

FORMAT = "swe-agent"
# What stands for an observation that a history processor left out.
ELIDED = "Old environment output:"
Json = Mapping[str, Any]


class SweAgentReader:
    """Reader of trajectories; mini-swe-agent's bare arrays of messages look like any chat array and are read so."""

    name = "swe_agent"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images system_prompt calls cache_reads cost subagents "
            "engine_events",
            "rebuilt", cached="either",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. SWE-agent has a trajectory or a history beside its info, mini-swe-agent messages."""
        document = probe.document
        return Detection(FORMAT, "session") if document is not None and _kind(document) is not None else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of SWE-agent only the totals of a run are known, so it has no calls of its own."""
        taken: dict[str, int] = {}
        for found in files:
            yield from read_whole(found, partial(_read, found.probe, options, taken))


def _kind(document: Json) -> str | None:
    info = document.get("info")
    if isinstance(document.get("trajectory_format"), str) and isinstance(document.get("messages"), list):
        return "mini"
    if isinstance(info, Mapping) and isinstance(document.get("messages"), list):
        is_mini = bool({"mini_version", "model_stats", "exit_status"} & info.keys())
        return "mini" if is_mini and _are_messages(document["messages"]) else None
    steps, history = document.get("trajectory"), document.get("history")
    if isinstance(steps, list) and (isinstance(info, Mapping) or isinstance(history, list)):
        is_step = all({"action", "observation", "response"} & as_dict(one).keys() for one in steps[:3])
        return "swe" if is_step else None
    # A demonstration has nothing but its history.
    is_demo = isinstance(history, list) and bool(history) and _are_messages(history)
    return "swe" if is_demo and ("agent" in as_dict(history[0]) or isinstance(info, Mapping)) else None  # type: ignore[index]


def _are_messages(values: list[Any]) -> bool:
    return all("role" in as_dict(one) or "type" in as_dict(one) or "object" in as_dict(one) for one in values[:5])


def _read(probe: Probe, options: ReadOptions, taken: dict[str, int]) -> Transcript:
    value, surrogates = load(probe)
    document = as_dict(value)
    info = as_dict(document.get("info"))
    name = _id_of(document, probe)
    taken[name] = taken.get(name, 0) + 1
    if taken[name] > 1:
        name = f"{name}-{taken[name]}"
    session = Session(name, FORMAT, _version(document, info), title=as_text(document.get("instance_id")))
    draft = Draft(session, probe.name, options)
    model = _model(info)
    reader = HistoryReader(draft, model)
    messages = as_list(document.get("messages")) or as_list(document.get("history"))
    if messages:
        reader.read(messages)
    else:
        reader.steps(as_list(document.get("trajectory")))
    _queries(draft, as_list(document.get("trajectory")))
    _totals(draft, info)
    session.model = session.model or model
    session.cwd = as_text(as_dict(as_dict(as_dict(info.get("config")).get("environment"))).get("cwd"))
    counts = Counter(one.agent for one in draft.transcript.messages if one.agent is not None)
    draft.transcript.subagents.extend(SubAgent(agent, None, None, None, count) for agent, count in counts.items())
    draft.note_surrogates(surrogates)
    return draft.finish()


def _id_of(document: Json, probe: Probe) -> str:
    """The instance's name where it is written, else the file's with a hash of how it begins."""
    name = as_id(document.get("instance_id")) or as_id(as_dict(document.get("info")).get("instance_id"))
    if name is not None:
        return name
    messages = (
        as_list(document.get("messages")) or as_list(document.get("history")) or as_list(document.get("trajectory"))
    )
    seed = "\n".join(str(as_dict(one).get("content", as_dict(one).get("response"))) for one in messages[:2])
    digest = hashlib.sha256(seed.encode("utf-8", errors="replace")).hexdigest()[:8]
    stem = probe.basename.removesuffix(".json").removesuffix(".traj")
    return f"{stem[:100]}-{digest}"


def _version(document: Json, info: Json) -> str | None:
    found = (document.get("trajectory_format"), info.get("mini_version"), info.get("swe_agent_version"))
    return next((str(one)[:40] for one in found if isinstance(one, str | int | float)), None)


def _model(info: Json) -> str | None:
    config = as_dict(info.get("config"))
    for holder in (as_dict(config.get("model")), as_dict(as_dict(config.get("agent")).get("model"))):
        name = as_text(holder.get("model_name")) or as_text(holder.get("name"))
        if name:
            return name
    return None


def _queries(draft: Draft, trajectory: list[Any]) -> None:
    """What each step was given, where it is written (1.1 and later): the history processors leave old observations
    out, so it may be less than everything before it. Tokens of a step are in no file."""
    for number, value in enumerate(trajectory, start=1):
        query = as_dict(value).get("query")
        if not isinstance(query, list):
            continue
        texts = ["".join(_text_of(one)) for one in query]
        data: dict[str, Scalar] = {
            "step": number, "messages": len(query), "chars": sum(map(len, texts)),
            "evictedMessages": sum(text.startswith(ELIDED) for text in texts),
        }  # fmt: skip
        event = EngineEvent("context.assembled", FORMAT, None, draft.file, None, "disk", "exact", data)
        draft.transcript.engine_events.append(event)


def _text_of(message: Any) -> Iterator[str]:
    """The texts of one message of a query."""
    content = as_dict(message).get("content")
    for part in content if isinstance(content, list) else [content]:
        text = as_text(part) or as_text(as_dict(part).get("text"))
        if text:
            yield text


def _totals(draft: Draft, info: Json) -> None:
    """The run's totals: hints, and where no call says its own tokens the unlogged usage."""
    stats = as_dict(info.get("model_stats"))
    calls = as_int(stats.get("api_calls"))
    sent, received = as_int(stats.get("tokens_sent")), as_int(stats.get("tokens_received"))
    hints = draft.session.hints
    status = as_text(info.get("exit_status"))
    if status:
        hints["exit_status"] = status[:100]
    for key, value in (("api_calls", calls), ("tokens_sent", sent), ("tokens_received", received)):
        if value is not None:
            hints[key] = value
    made = len(draft.transcript.calls)
    if made and calls is not None and calls != made:
        draft.problem("count_mismatch", f"the totals say {calls} calls, {made} are written", "info", value=calls)
    if not made and (sent or received):
        # The cost that is beside them may be an estimate of the client's, so only tokens are taken.
        draft.transcript.unlogged_usage = TokenUsage(input_tokens=sent, output_tokens=received)
