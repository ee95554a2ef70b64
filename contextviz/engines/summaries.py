"""Summarisers: what engines are given in place of a language model. Deterministic, each with an id and a quality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from contextviz.engines.settings import Value


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What is to be summarised: `text` as the engine gives it, `previous` the summary before it, `target_tokens` what
    the engine asks for (0: no limit). `messages` is how many messages of the session had been read by then, `covers`
    the seqs of those that the text is of."""

    text: str
    is_aggressive: bool = False
    is_condensed: bool = False
    depth: int = 0
    previous: str | None = None
    target_tokens: int = 0
    messages: int = 0
    covers: tuple[int, ...] = ()
    instructions: str = ""


class SummariserFailed(Exception):
    """It gave no summary; the text is a sentence. `is_refused`: its provider refused the credentials, so the engine
    writes nothing (7.4) instead of falling back."""

    def __init__(self, sentence: str, *, is_refused: bool = False) -> None:
        super().__init__(sentence)
        self.is_refused = is_refused


class Summariser(Protocol):
    """Makes a summary. The same request gives the same text within one run."""

    @property
    def id(self) -> str:
        """What the run is labelled with."""
        ...

    @property
    def settings(self) -> dict[str, Value]:
        """What it was set to, stored with the run (never a secret)."""
        ...

    def __call__(self, request: SummaryRequest) -> str:
        """The summary; raises SummariserFailed."""
        ...


@dataclass(frozen=True, slots=True)
class RuleSummariser:
    """A summariser that is one function of the request."""

    id: str
    rule: Callable[[SummaryRequest], str]

    @property
    def settings(self) -> dict[str, Value]:
        """None: it is a rule."""
        return {}

    def __call__(self, request: SummaryRequest) -> str:
        """See Summariser."""
        return self.rule(request)
