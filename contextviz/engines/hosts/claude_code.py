"""Claude Code's own compaction (formats document, section B.5): everything before the newest answer is folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host
from contextviz.engines.hosts.folding import CHARS_A_TOKEN, Folding
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Assembly, CompactionMade, Part, altered

STUB = "[Old tool result content cleared]"
_STUB_TOKENS = -(-len(STUB) // CHARS_A_TOKEN)
_BEFORE = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers the"
    " earlier portion of the conversation.\n\nSummary:"
)


class ClaudeCode(Folding):
    """Once a request would reach the threshold, all before the model's newest answer is folded into a summary."""

    spec = EngineSpec(
        "claude-code", "2.1.332", "Claude Code", "One summary, the model's newest answer and what came since.", "B.5",
        (
            Setting("threshold", 0, "Tokens of a request from which on it compacts; 0 takes compactAt of the window.",
                    least=0, most=10_000_000, unit="tokens"),
            Setting("compactAt", 0.85, "Share of the window from which on it compacts; 170,240 of 200,000 were seen.",
                    kind="float", least=0.05, most=1),
            Setting("preserveNewest", True, "Whether the newest answer stays word for word, as in 2.1.332.",
                    kind="bool", is_what_if=True),
            Setting("microcompact", False, "Whether old tool results are first replaced by a stub.", kind="bool"),
            Setting("keepToolResults", 3, "The newest tool results that a microcompaction leaves.", least=0, most=1000,
                    unit="results", is_what_if=True),
            Setting("leastSaved", 20_000, "A microcompaction that would save fewer tokens is not made.", least=0,
                    most=10_000_000, unit="tokens"),
        ),
        qualities={"cut": "derived", "trigger": "derived", "microcompact": "simulated", "summary": "simulated"},
        simulated="The threshold and the choice of a microcompaction are written nowhere: both are settings here."
        " What the client attaches again after a boundary (files, to-do lists) is left out.",
        estimator="chars4-each", uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._stubbed: set[int] = set()

    def wrapped(self, summary: str) -> str:
        """See Folding."""
        return f"{_BEFORE}\n{summary}"

    def is_due(self) -> bool:
        """Whether the request reaches the threshold."""
        limit = self.number("threshold") or self.number("compactAt") * self.host.window
        return bool(limit) and self.current >= limit

    def assemble(self, request: AssembleRequest) -> Assembly:
        """Stubs first where they are wanted; then a summary where it is still too much."""
        if self.is_due() and self.flag("microcompact"):
            self._microcompact()
        return super().assemble(request)

    def leaving(self) -> Sequence[int]:
        """Everything up to the model's newest answer, or to what came after it."""
        answers = (at for at in range(len(self.messages) - 1, -1, -1) if self.messages[at].role == "assistant")
        newest = next(answers, None)
        if newest is None:
            return range(0)
        if self.flag("preserveNewest"):
            return range(newest)
        after = next(
            (at for at in range(newest + 1, len(self.messages)) if self.messages[at].role == "user"), len(self.messages)
        )
        return range(after)

    def _microcompact(self) -> None:
        """Replace all but the newest tool results by the stub, where that saves enough."""
        results = [at for at, message in enumerate(self.messages) if message.role == "tool"]
        keep = self.whole("keepToolResults")
        old = [
            at for at in (results[:-keep] if keep else results)
            if self.messages[at].seq not in self._stubbed and self.sizes[at] > _STUB_TOKENS
        ]  # fmt: skip
        saved = sum(self.sizes[at] - _STUB_TOKENS for at in old)
        if not old or saved < self.number("leastSaved"):
            return
        before = self.current
        for at in old:
            self.parts[at] = self._stub(self.messages[at])
            self.sizes[at] = _STUB_TOKENS
        self.total -= saved
        self.host.compacted(
            CompactionMade(
                "microcompact", "threshold", before, self.current, tuple(self.messages[at].seq for at in old),
                reason=f"{len(old):,} old tool results replaced by a stub", data={"tokensSaved": saved},
            )
        )  # fmt: skip

    def _stub(self, message: ReplayMessage) -> Part:
        self._stubbed.add(message.seq)
        return altered(message, STUB, state="stub", reason="microcompaction: an old result replaced by a stub")
