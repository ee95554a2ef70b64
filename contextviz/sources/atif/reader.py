"""Reads ATIF files; a continuation knows what it continues."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from contextviz.events.session import Session, Transcript
from contextviz.sources.atif.trajectory import TrajectoryReader, check_totals
from contextviz.sources.features import declared
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.load import load, read_whole
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list, as_text

FORMAT = "atif"
_VERSION = re.compile(r"^(?:ATIF-)?v?\d+(?:\.\d+)*$")
Json = Mapping[str, Any]


class AtifReader:
    """Reader of trajectory.json files."""

    name = "atif"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images system_prompt tool_definitions calls cache_reads cost "
            "subagents",
            "rebuilt", cached="inside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. Steps with an agent, or with a version of the format; each step says who made it."""
        document = probe.document
        if document is None or not isinstance(document.get("steps"), list):
            return None
        version = document.get("schema_version")
        is_marked = isinstance(version, str) and _VERSION.match(version) is not None
        if not is_marked and not isinstance(document.get("agent"), Mapping):
            return None
        steps = document["steps"][:5]
        is_ours = all("source" in as_dict(step) for step in steps) and (bool(steps) or is_marked)
        return Detection(FORMAT, "session") if is_ours else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. `continued_trajectory_ref` of one file makes it the parent of the file it names."""
        taken: dict[str, int] = {}
        parents: dict[str, str] = {}
        for found in files:
            document = found.probe.document or {}
            ref = as_text(document.get("continued_trajectory_ref"))
            if ref:
                folder = found.probe.name.rpartition("/")[0]
                parents[f"{folder}/{ref}".strip("/")] = _id_of(document, found.probe)
        for found in files:
            parent = parents.get(found.probe.name)
            yield from read_whole(found, partial(_read, found.probe, options, taken, parent))


def _id_of(document: Json, probe: Probe) -> str:
    name = as_id(document.get("session_id")) or as_id(document.get("trajectory_id"))
    if name is not None:
        return name
    first = as_dict(next(iter(as_list(document.get("steps"))), None))
    seed = f"{first.get('timestamp')}\n{first.get('message')}\n{as_dict(document.get('agent')).get('name')}"
    return "atif-" + hashlib.sha256(seed.encode("utf-8", errors="replace")).hexdigest()[:16]


def _read(probe: Probe, options: ReadOptions, taken: dict[str, int], parent: str | None) -> Transcript:
    value, surrogates = load(probe)
    document = as_dict(value)
    name = _id_of(document, probe)
    taken[name] = taken.get(name, 0) + 1
    if taken[name] > 1:
        # A continuation keeps its session's id: its own trajectory id, or its number, tells it apart.
        own = as_id(document.get("trajectory_id"))
        name = own if own is not None and own not in taken else f"{name}-{taken[name]}"
        taken.setdefault(name, 1)
    about = as_dict(document.get("agent"))
    session = Session(
        name, FORMAT, as_text(document.get("schema_version")), agent=as_text(about.get("name")), parent=parent,
        title=as_text(document.get("notes")),
    )  # fmt: skip
    draft = Draft(session, probe.name, options)
    TrajectoryReader(draft).read(document)
    check_totals(draft, document)
    ref = as_text(document.get("continued_trajectory_ref"))
    if ref:
        session.hints["continued_in"] = ref[:500]
    if session.model is None:
        session.model = as_text(about.get("model_name")) or as_text(about.get("model"))
    draft.note_surrogates(surrogates)
    return draft.finish()
