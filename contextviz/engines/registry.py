"""The engines there are: ours in an explicit list, others through the entry-point group `contextviz.engines`."""

from __future__ import annotations

import difflib
import logging
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from contextviz.engines.baselines import KeepAll, KeepNothing, KeepTail
from contextviz.engines.engine import EngineSpec
from contextviz.engines.replay import EngineClass

GROUP = "contextviz.engines"
OWN: tuple[EngineClass, ...] = (KeepAll, KeepNothing, KeepTail)
logger = logging.getLogger("contextviz.engines")


class NoSuchEngine(ValueError):
    """No engine has that id; the text is a sentence."""


@cache
def _all() -> dict[str, EngineClass]:
    found: dict[str, EngineClass] = {}
    for engine in OWN:
        found[engine.spec.key] = engine
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        other = _loaded(point)
        if other is None:
            continue
        if other.spec.key in found:
            logger.warning("engine left out: another has its id and version engine=%s", other.spec.key)
            continue
        found[other.spec.key] = other
    return found


def _loaded(point: Any) -> EngineClass | None:
    try:
        engine = point.load()
    except Exception:  # whatever a package from outside does at import, ours must go on
        logger.exception("engine could not be loaded entry_point=%s", point.value)
        return None
    if isinstance(getattr(engine, "spec", None), EngineSpec):
        return engine  # type: ignore[no-any-return]
    logger.warning("engine left out: it has no EngineSpec in `spec` entry_point=%s", point.value)
    return None


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
    raise NoSuchEngine(f"There is no engine {name[:60]!r}. {hint}There are: {', '.join(sorted(found))}.")
