"""What gets back what a replay took away: handles and summary ids that stand in a window, and the bytes behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contextviz.analysis.compaction.loss import readable_text
from contextviz.analysis.replay.history import HistoryMessage, Said
from contextviz.analysis.summary_links import Links
from contextviz.events.compaction import SummaryStore
from contextviz.events.run import Run
from contextviz.events.text import TextPool, TextRef, digest_of

_HASH = re.compile(r"[0-9a-f]{4,64}")


class Handles:
    """The handles of a run. `names` are those of originals, then the ids of summaries."""

    def __init__(self, run: Run, pool: TextPool, history: Sequence[HistoryMessage]):
        self._pool = pool
        self._history = history
        self._originals = {original.handle: original.text for original in run.originals}
        self._links = Links.of(SummaryStore(run.engine, "", nodes=run.nodes))
        self.summaries = [name for name in self._links.nodes if name not in self._originals]
        self.names = [*self._originals, *self.summaries]
        self._by_seq: dict[int, list[str]] = {}
        self.unverified = 0

    def texts(self, name: str) -> list[str]:
        """The texts that `name` brings back, each verified by its hash; what cannot be is left out and counted.

        A summary's are the messages it was made from, through every summary in between.
        """
        if name in self._originals:
            return list(self._kept(name, self._originals[name]))
        seqs = (int(seq) for seq in self._links.messages_below(name) if seq.isdecimal())
        return [text for seq in seqs if seq < len(self._history) for text in self._of_message(seq)]

    def resolve(self, name: str) -> str | None:
        """What `name` brings back as one text, None where it is no handle of the run or nothing could be verified."""
        if name not in self._originals and name not in self._links.nodes:
            return None
        return "\n".join(self.texts(name)) or None

    def _kept(self, handle: str, ref: TextRef) -> Iterator[str]:
        text = self._verified(ref)
        if text is None:
            return
        # A handle that is a hash must be the beginning of this text's; other ids the run vouches for.
        if _HASH.fullmatch(handle) and not ref.sha256.startswith(handle):
            self.unverified += 1
            return
        yield text

    def _of_message(self, seq: int) -> list[str]:
        known = self._by_seq.get(seq)
        if known is None:
            known = [text for said in self._history[seq].texts for text in self._said(said)]
            self._by_seq[seq] = known
        return known

    def _said(self, said: Said) -> Iterator[str]:
        if said.ref is None:
            yield said.text
            return
        text = self._verified(said.ref)
        if text is not None:
            yield readable_text(text) if said.kind == "tool_call" else text

    def _verified(self, ref: TextRef) -> str | None:
        try:
            text = self._pool.get(ref)
        except KeyError:
            self.unverified += 1
            return None
        if digest_of(text) != ref.digest:
            self.unverified += 1
            return None
        return text
