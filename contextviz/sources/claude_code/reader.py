"""The reader: files grouped by session, sessions read one after another, nothing counted twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.claude_code.assemble import Known, Parts, assemble, in_time
from contextviz.sources.claude_code.detect import FORMAT, detect
from contextviz.sources.claude_code.group import Group, groups
from contextviz.sources.claude_code.load import Loaded, load
from contextviz.sources.features import declared
from contextviz.sources.source import ALONE, Detection, Found, Probe, ReadItem, ReadOptions


class ClaudeCodeReader:
    """Reads Claude Code's session files with those of their sub-agents (formats.md B and I)."""

    name = "claude_code"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images system_prompt tool_definitions injected calls cache_reads "
            "cache_writes reasoning failed_calls requests compactions trigger summary branches forks subagents",
            "rebuilt", cached="beside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect."""
        return detect(probe)

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read: forks and resumed copies are attributed to the file that was there first."""
        found = groups(files)
        known = Known(is_shared=len(found) > 1)
        if known.is_shared:  # what other sessions hold decides what is counted in each: they are read whole
            options = replace(options, memory=None)
        listed: set[str] = set()
        for group in found:
            for item in _read_group(group, known, options):
                if isinstance(item, SourceFile):
                    listed.add(item.path)
                yield item
                del item  # not held while the next session is read
        for one in files:
            if one.probe.name not in listed:
                is_index = one.detection.role == "index"
                yield _listed(replace(one, detection=replace(one.detection, reason=ALONE)) if is_index else one, None)


def _read_group(group: Group, known: Known, options: ReadOptions) -> Iterator[ReadItem]:
    kept: list[Loaded] = []
    session = group.id
    seen: set[str] = set()
    for one in [*group.roots, *group.agents]:
        loaded = load(one, options)
        if not kept:
            session = _session_id(group, loaded)
        uuids = {row.uuid for row in loaded.rows if row.uuid}
        if kept and uuids and uuids <= seen:
            copied = f"every line of it is also in {kept[0].name}"
            yield SourceFile(one.probe.name, FORMAT, "duplicate", False, copied, one.probe.size, session)
            continue
        seen |= uuids
        kept.append(loaded)
        reason = f"a sub-agent of session {group.id}" if one in group.agents else None
        yield SourceFile(one.probe.name, FORMAT, "session", True, reason, one.probe.size, session)
    for one in group.others:
        yield _listed(one, session)
    if kept:
        alone = None if group.roots else group.id
        # The rows are half of what reading holds; whoever is given the transcript may take long with it.
        del loaded, uuids, seen
        kept = in_time(kept, options.now)
        yield _assembled(Parts(session, kept, group.metas, alone), known, options)


def _assembled(parts: Parts, known: Known, options: ReadOptions) -> Transcript:
    transcript = assemble(parts, known, options)
    parts.files.clear()
    return transcript


def _session_id(group: Group, first: Loaded) -> str:
    if not group.roots:
        return f"agent-{first.agent or _agent(first)}"
    return group.id if group.is_named else first.session_id()


def _agent(loaded: Loaded) -> str:
    return next((row.agent for row in loaded.rows if row.agent), loaded.name)


def _listed(one: Found, session: str | None) -> SourceFile:
    detection = one.detection
    return SourceFile(
        one.probe.name, detection.format, detection.role, False, detection.reason, one.probe.size, session
    )
