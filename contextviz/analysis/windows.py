"""The context window and threshold of a session whose source reports none."""

from __future__ import annotations

from contextviz.events.session import Configuration, Session, Setting, Transcript
from contextviz.tokens.windows import window_of

# OpenVole compacts above this share of its window; the share is fixed (engines document, section 2.1).
OPENVOLE_SHARE = 0.75
# Chat apps give a model less than it could take, by plan and over time, and say nowhere how much: the table of models
# would be wrong for them.
APPS = frozenset({"chatgpt-export", "claude-ai-export"})


def fill_window(transcript: Transcript) -> None:
    """Set Session.window where neither the source nor an index gives one: by the agent's configuration, else from our
    table, each with its basis. Sets the compaction threshold that the configuration asks for, too."""
    session = transcript.session
    reported = [call.window for call in transcript.calls if call.window]
    if session.window is None and not reported:
        model = next((call.model for call in reversed(transcript.calls) if call.model), session.model)
        session.window = configured_window(session.configuration, model, session.agent)
        session.window_basis = "configuration" if session.window else None
        if session.window is None and session.format not in APPS:
            prompts = [call.usage.prompt_tokens or 0 for call in transcript.calls]
            session.window = window_of(model, largest_prompt=max(prompts, default=None))
            session.window_basis = "table" if session.window else None
    fill_threshold(session, session.window or (reported[-1] if reported else None))


def fill_threshold(session: Session, window: int | None) -> None:
    """Set Session.compaction_threshold by the configuration, for a window of so many tokens; leaves it alone where
    the source reports one or the configuration does not say enough."""
    if session.compaction_threshold is not None and session.compaction_threshold_basis != "configuration":
        return
    found = configured_threshold(session.configuration, window, session.agent)
    if found is not None:
        session.compaction_threshold, session.compaction_threshold_basis = found, "configuration"


def configured_window(found: Configuration | None, model: str | None, agent: str | None) -> int | None:
    """The window in tokens that a configuration gives `model`; None where it gives none."""
    if found is None:
        return None
    if found.agent == "openvole":
        return _tokens(found.settings.get("loop.maxContextTokens"))
    if found.agent == "codex":
        return _tokens(found.settings.get("model_context_window"))
    own = None
    if found.agent == "openclaw":
        own = _tokens(_of_agent(found, agent, "contextTokens"))
    of_model = _by_model(found, model or _default_model(found, agent))
    # The agent's own limit holds below the model's window.
    return min((one for one in (own, of_model) if one is not None), default=None)


def configured_threshold(found: Configuration | None, window: int | None, agent: str | None) -> int | None:
    """Above how many tokens a configuration has its client compact; None where that is off or it does not say.

    Values that a configuration leaves to its client's defaults are not guessed.
    """
    if found is None:
        return None
    settings = found.settings
    if found.agent == "codex":
        return _tokens(settings.get("model_auto_compact_token_limit"))
    if window is None:
        return None
    if found.agent == "openvole":
        return int(OPENVOLE_SHARE * window) if "loop.maxContextTokens" in settings else None
    if found.agent == "pi":
        if settings.get("compaction.enabled") is False:
            return None
        return _below(window, settings.get("compaction.reserveTokens"))
    if found.engine not in (None, "legacy"):
        share = settings.get(f"plugins.entries.{found.engine}.config.contextThreshold")
        return int(share * window) if isinstance(share, int | float) and 0 < share <= 1 else None
    reserve, floor = (_of_agent(found, agent, f"compaction.{name}") for name in ("reserveTokens", "reserveTokensFloor"))
    if not isinstance(reserve, int) or not isinstance(floor, int):
        return None
    return _below(window, max(reserve, floor))


def _of_agent(found: Configuration, agent: str | None, name: str) -> Setting | None:
    """An OpenClaw setting of one agent, else the default of all."""
    own = found.settings.get(f"agents.list.{agent}.{name}") if agent else None
    return found.settings.get(f"agents.defaults.{name}") if own is None else own


def _default_model(found: Configuration, agent: str | None) -> str | None:
    names: list[Setting | None] = [found.settings.get("defaultModel")]
    names.extend(_of_agent(found, agent, name) for name in ("model.primary", "model"))
    return next((name for name in names if isinstance(name, str)), None)


def _by_model(found: Configuration, model: str | None) -> int | None:
    """By `provider/model`, else by the model alone where all providers that have it say the same."""
    if model is None:
        return None
    if model in found.windows:
        return found.windows[model]
    same = {tokens for name, tokens in found.windows.items() if name.partition("/")[2] == model}
    return next(iter(same)) if len(same) == 1 else None


def _below(window: int, reserve: Setting | None) -> int | None:
    if isinstance(reserve, bool) or not isinstance(reserve, int) or reserve >= window:
        return None
    return window - reserve


def _tokens(value: Setting | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
