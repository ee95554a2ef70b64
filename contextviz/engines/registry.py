"""The engines there are: ours in an explicit list, others through the entry-point group `contextviz.engines`."""

from __future__ import annotations

import difflib
import logging
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from contextviz.engines.baselines import KeepAll, KeepNothing, KeepTail
from contextviz.engines.context_memory import ContextMemory
from contextviz.engines.cortext import Cortext
from contextviz.engines.engine import EngineSpec
from contextviz.engines.flowctx import FlowctxPort, FlowctxSeed
from contextviz.engines.hosts.claude_code import ClaudeCode
from contextviz.engines.hosts.codex import Codex
from contextviz.engines.hosts.openclaw import OpenClaw
from contextviz.engines.hosts.pi import Pi
from contextviz.engines.hosts.recorded import RecordedWindows
from contextviz.engines.lossless import Lossless, LosslessBeta
from contextviz.engines.openbrain import OpenBrain
from contextviz.engines.openvole import OpenVole
from contextviz.engines.oracle import Oracle
from contextviz.engines.replay import EngineClass

GROUP = "contextviz.engines"
OWN: tuple[EngineClass, ...] = (
    KeepAll,
    KeepNothing,
    KeepTail,
    Oracle,
    RecordedWindows,
    Pi,
    OpenClaw,
    ClaudeCode,
    Codex,
    OpenVole,
    FlowctxSeed,
    FlowctxPort,
    Lossless,
    LosslessBeta,
    Cortext,
    OpenBrain,
    ContextMemory,
)
logger = logging.getLogger("contextviz.engines")


class NoSuchEngine(ValueError):
    """No engine has that id; the text is a sentence."""


def _all() -> dict[str, EngineClass]:
    return _found()[0]


@cache
def _found() -> tuple[dict[str, EngineClass], tuple[str, ...]]:
    """Engines by key, and a sentence for each that was left out."""
    found: dict[str, EngineClass] = {engine.spec.key: engine for engine in OWN}
    left: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        other = _loaded(point)
        if not isinstance(other, str) and other.spec.key in found:
            other = f"another engine is {other.spec.key} already"
        if isinstance(other, str):
            who = f"The engine {point.name[:60]!r} of another package ({point.value[:100]})"
            left.append(f"{who} is left out: {other}.")
            logger.warning(left[-1])
        else:
            found[other.spec.key] = other
    return found, tuple(left)


def _loaded(point: Any) -> EngineClass | str:
    """The engine, or why there is none."""
    try:
        engine = point.load()
    except (Exception, SystemExit) as error:  # whatever a package from outside does at import, ours must go on
        logger.debug("an engine could not be imported", exc_info=True)
        return f"its import fails with {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if isinstance(engine, type) and isinstance(getattr(engine, "spec", None), EngineSpec):
        return engine
    return "it is no class with an EngineSpec as its `spec`"


def left_out() -> tuple[str, ...]:
    """A sentence for each engine of another package that could not be taken."""
    return _found()[1]


def engines() -> list[EngineClass]:
    """Every engine in every version, in the order of the lists."""
    return list(_all().values())


def named(name: str) -> EngineClass:
    """The engine of an id (`flowctx`: its newest version) or a key (`flowctx@port-0.1.0`); raises NoSuchEngine."""
    found = _all()
    if name in found:
        return found[name]
    versions = [engine for engine in found.values() if engine.spec.id == name]
    if versions:
        return versions[-1]
    ids = sorted({engine.spec.id for engine in found.values()} | set(found))
    near = difflib.get_close_matches(name, ids, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    there = f"There are: {', '.join(sorted(found))}."
    raise NoSuchEngine(" ".join([f"There is no engine {name[:60]!r}. {hint}{there}", *left_out()]))
