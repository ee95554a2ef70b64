"""Codex's own compaction (formats document, sections C.5 and I): the user's messages stay, all else is folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.engines.engine import EngineSpec, Host
from contextviz.engines.hosts.folding import Folding
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value

_BEFORE = (
    "Another language model worked on this before you and left a summary of what it did. Use it, and do not do the work"
    " again."
)


def is_put_in(message: ReplayMessage) -> bool:
    """Whether the client put a message in: what it says as the developer, and the surroundings it describes."""
    return message.role in ("developer", "system") or all(piece.kind == "injected" for piece in message.pieces)


class Codex(Folding):
    """Once a request would reach the limit, what the model and its tools said is folded into a summary."""

    spec = EngineSpec(
        "codex", "0.171.0", "Codex", "The user's messages word for word, and one summary of everything else.", "C.5",
        (
            Setting("autoCompactTokenLimit", 0, "Tokens of a request from which on it compacts; 0 takes compactAt of"
                    " the window.", least=0, most=10_000_000, unit="tokens"),
            Setting("compactAt", 0.9, "Share of the window from which on it compacts.", kind="float", least=0.05,
                    most=1),
            Setting("keepUserTokens", 0, "Tokens of the newest messages of the user that stay; 0 keeps all, as 0.171"
                    " does.", least=0, most=10_000_000, unit="tokens", is_what_if=True),
        ),
        qualities={"cut": "derived", "trigger": "derived", "summary": "simulated"},
        simulated="Codex has its model write the summary; here the summariser stands in. A step that Codex does again"
        " after a compaction in the middle of a turn is not done again.",
        estimator="chars4-each", uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._put_in: set[int] = set()

    def wrapped(self, summary: str) -> str:
        """See Folding."""
        return f"{_BEFORE}\n\n{summary}"

    def is_due(self) -> bool:
        """Whether the request, with what came since the last answer, reaches the limit."""
        limit = self.number("autoCompactTokenLimit") or self.number("compactAt") * self.host.window
        return bool(limit) and self.current >= limit

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        super().ingest(message)
        if is_put_in(message):
            self._put_in.add(message.seq)

    def leaving(self) -> Sequence[int]:
        """Answers, calls and results; of the user's messages the oldest where only some tokens of them stay."""
        keep = self.number("keepUserTokens")
        gone, users = [], 0
        # What stayed the last time is the user's or put in: it goes only where tokens are counted.
        for at in range(len(self.messages) - 1, -1 if keep else self.summary_at - 1, -1):
            message = self.messages[at]
            if message.seq in self._put_in:
                continue
            if message.role == "user":
                users += self.sizes[at]
            if message.role != "user" or (keep and users > keep):
                gone.append(at)
        return gone[::-1]

    def arranged(self, staying: list[int]) -> list[int]:
        """Older messages of the user, what the client puts in again, the newest message, then the summary."""
        self.summary_at = len(staying)
        if not self._put_in:
            return staying
        own = [at for at in staying if self.messages[at].seq not in self._put_in]
        put_in = [at for at in staying if self.messages[at].seq in self._put_in]
        return [*own[:-1], *put_in, *own[-1:]]
