"""Findings that follow from a whole transcript, whatever its format."""

from __future__ import annotations

from contextviz.analysis.summary_graph import integrity
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript

LOOP_COMPACTIONS = 3


def main_calls(transcript: Transcript) -> list[ModelCall]:
    """Calls of the main chain's active path: no sub-agents, no summariser's calls, no abandoned branches."""
    return [call for call in transcript.calls if call.agent is None and call.purpose == "turn" and call.on_active_path]


def newer_compaction(transcript: Transcript) -> Compaction | None:
    """The compaction on the active path that no real call follows, if there is one."""
    own = [one for one in transcript.compactions if one.agent is None and one.on_active_path]
    if own and own[-1].after_call is None:
        return own[-1]
    return None


def findings(transcript: Transcript) -> list[ReadProblem]:
    """The transcript's own problems, then those that follow from it and are not among them yet."""
    known = list(transcript.problems)
    codes = {problem.code for problem in known}
    for problem in _derived(transcript):
        if problem.code not in codes:
            known.append(problem)
    return known


def _derived(transcript: Transcript) -> list[ReadProblem]:
    found: list[ReadProblem] = [] if transcript.store is None else list(integrity(transcript.store).findings)
    newest = newer_compaction(transcript)
    if newest is not None and main_calls(transcript):
        message = "a compaction is newer than the last call with real usage: how full the window is, is not known"
        found.append(ReadProblem("compaction_newer_than_usage", message, "info", newest.file, newest.line, newest.id))
    for call in main_calls(transcript):
        window, prompt = call.window or transcript.session.window, call.usage.prompt_tokens
        if window and prompt and prompt > window:
            message = f"the prompt of call {call.index + 1} ({prompt} tokens) is larger than the window ({window})"
            found.append(ReadProblem("window_exceeded", message, "warning", None, call.line, call.entry, prompt))
            break
    return found
