"""What can be set of OpenVole, and which parts of its replay are exact."""

from __future__ import annotations

from collections.abc import Mapping

from contextviz.engines.settings import Setting
from contextviz.events.engine_event import Quality

SETTINGS: tuple[Setting, ...] = (
    Setting("maxContextTokens", 0, "The window; 0 is the run's own (OpenVole itself takes 128,000).", least=0,
            most=100_000_000, unit="tokens", is_what_if=True),
    Setting("compactThreshold", 50, "Messages above which compaction runs; 0 turns this trigger off.", least=0,
            most=1_000_000, unit="messages", is_what_if=True),
    Setting("responseReserve", 4000, "Kept free for the answer, and counted as used.", least=1, most=10_000_000,
            unit="tokens", is_what_if=True),
    Setting("keepRecent", 10, "Newest messages that compaction leaves alone (VOLE_COMPACT_KEEP_RECENT).", least=1,
            most=1000, unit="messages", is_what_if=True),
    Setting("toolTokens", 0, "The list of tools, where the session's own number for the system prompt lacks it.",
            least=0, most=10_000_000, unit="tokens", is_what_if=True),
    Setting("fixed", False, "Mend the trimmer: protected messages stay protected after errors were dropped.", "bool",
            is_what_if=True),
    Setting("summary", "heuristic", "Who writes the summary: the rule, or the run's summariser (VOLE_COMPACT_MODEL).",
            "choice", choices=("heuristic", "llm")),
    Setting("tasks", "session", "The whole session as one task, or a task for each user message, as a chat has it:"
            " then earlier turns are known by history and memory only.", "choice", choices=("session", "turn")),
    Setting("sessionHistory", True, "With a task for each turn: inject the history of earlier ones (paw-session).",
            "bool"),
    Setting("sessionTtl", 60, "Pause after which the history is not injected (VOLE_SESSION_TTL).", least=1,
            most=10_000_000, unit="minutes"),
    Setting("memory", True, "With a task for each turn: keep and inject what paw-memory writes down.", "bool"),
)  # fmt: skip

QUALITIES: Mapping[str, Quality] = {
    "messages": "derived", "budget": "derived", "compaction": "exact", "trim": "exact", "summary": "exact",
    "history": "exact", "memory": "derived",
}  # fmt: skip

SIMULATED = (
    "OpenVole: the system prompt and the tools are counted by the run, not by OpenVole; a host's message is one message"
    " although OpenVole writes words before a call twice; a summary by a model comes from the run's summariser; the"
    " memory starts empty."
)
