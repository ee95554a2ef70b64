"""Which transcript is read before which, and which files may hold the same entries."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import zstandard

from contextviz.sources.openclaw import kinds
from contextviz.sources.openclaw.kinds import Generation, basename_of, session_id_of
from contextviz.sources.source import Found, Probe
from contextviz.sources.values import as_id, as_text

MAX_UNPACKED_BYTES = 4 * 1024 * 1024 * 1024


@dataclass(slots=True)
class Plan:
    """A JSONL file before it is read: which session it is, and which family its entries may be shared with."""

    found: Found
    session_id: str
    parent_file: str | None
    generation: Generation
    started: str
    family: str = ""
    forked_from: str | None = None
    depth: int = 0


def planned(files: Sequence[Found]) -> list[Plan]:
    """Files in the order they are read: parents before forks, older generations before newer, larger copies first."""
    plans = [_plan(one) for one in files]
    by_base = {plan.found.probe.basename: plan for plan in plans}
    by_id = {plan.session_id: plan for plan in plans}
    for plan in plans:
        above, seen = plan, {id(plan)}
        while above.parent_file is not None:
            base = basename_of(above.parent_file)
            parent = by_base.get(base) or by_id.get(above.parent_file)
            if parent is None or id(parent) in seen:
                break
            seen.add(id(parent))
            plan.depth += 1
            above = parent
        plan.family = above.session_id
    return sorted(plans, key=lambda plan: (plan.family, plan.depth, plan.generation.state == "active",
                                           plan.started, -plan.found.probe.size, plan.found.probe.name))  # fmt: skip


def _plan(found: Found) -> Plan:
    probe = found.probe
    head = next((record for record in probe.records if record.get("type") == "session"), {})
    session_id = kinds.topic_of(probe.basename) or as_id(head.get("id")) or session_id_of(probe.name)
    parent = as_id(head.get("parentSession"))
    plan = Plan(found, session_id, parent, kinds.generation_of(probe.basename), as_text(head.get("timestamp")) or "")
    if parent is not None:
        plan.forked_from = session_id_of(parent) if parent.endswith(".jsonl") else parent
    return plan


def shared(plans: Sequence[Plan]) -> set[str]:
    """Families whose entries may be met twice among the files: forks, files of one session id."""
    counted: dict[str, int] = {}
    for plan in plans:
        counted[plan.family] = counted.get(plan.family, 0) + 1
    return {plan.family for plan in plans if counted[plan.family] > 1}


@contextmanager
def plain(probe: Probe) -> Iterator[Path]:
    """The path of a file's plain JSONL: its own, or a temporary one for a zstd file (bounded)."""
    if not kinds.is_packed(probe):
        yield probe.path
        return
    with tempfile.TemporaryDirectory(prefix="contextviz-unpacked-") as folder:
        target = Path(folder) / "transcript.jsonl"
        with probe.path.open("rb") as packed, target.open("wb") as plain:
            size = 0
            with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
                while part := reader.read(1 << 20):
                    size += len(part)
                    if size > MAX_UNPACKED_BYTES:
                        raise OSError("it unpacks to more than 4 GiB")
                    plain.write(part)
        yield target
