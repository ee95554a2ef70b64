"""Lists what Entire writes beside transcripts. The transcripts themselves are their agents' formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextviz.events.session import SourceFile
from contextviz.sources.checkpoints.metadata import FORMAT, agent_of, is_metadata, session_of
from contextviz.sources.features import Declaration
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions


class CheckpointReader:
    """Reader of `<2 hex>/<10 hex>/<n>/metadata.json` and of the one above it."""

    name = "entire"
    declares: dict[str, Declaration] = {}  # it gives no sessions

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect."""
        is_ours = probe.document is not None and is_metadata(probe.document)
        return Detection(FORMAT, "index") if is_ours else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. It counts nothing: the tokens told there are those of the transcript."""
        for found in files:
            probe, document = found.probe, found.probe.document or {}
            agent = agent_of(document)
            whose = f" of {agent[:80]}" if agent else ""
            reason = f"tells of a checkpoint{whose}; its tokens are those of the transcript"
            yield SourceFile(probe.name, FORMAT, "index", False, reason, probe.size, session_of(document))
