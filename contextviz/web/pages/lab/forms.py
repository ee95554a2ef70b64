"""The form of a replay, made from what each engine lets people set, and what was typed into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextviz.engines.engine import EngineSpec
from contextviz.engines.replay import MOST_TOKENS
from contextviz.engines.settings import Setting, Value, decimal_of
from contextviz.services import replay
from contextviz.tokens.estimate import ESTIMATOR
from contextviz.tokens.estimators import ESTIMATORS

MOST_TYPED = 200
BIGGEST_TOKENS = MOST_TOKENS
PREFIX = "s-"
PREFERRED = ("lossless", "flowctx")
AS_RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class FieldView:
    """One control: `kind` is number, bool, choice or text; `range` says in words what may be typed. `most` of a text is
    in characters."""

    name: str
    label: str
    kind: str
    value: str
    is_on: bool
    default: str
    help: str
    unit: str
    least: str
    most: str
    step: str
    range: str
    choices: tuple[str, ...]
    is_what_if: bool
    error: str


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine to choose: its key, its label with the version, and a sentence."""

    key: str
    label: str
    summary: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class RunForm:
    """The form of one engine. `qualities` are its parts by how true they are to the engine (exact, derived,
    simulated); `measure` the fields of the window and the budget."""

    key: str
    label: str
    summary: str
    simulated: str
    qualities: tuple[tuple[str, str], ...]
    engines: tuple[EngineChoice, ...]
    measure: tuple[FieldView, ...]
    settings: tuple[FieldView, ...]
    summarisers: tuple[str, ...]
    summariser: str
    scorers: tuple[str, ...]
    scorer: str
    error: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed, understood: settings by the engine's own keys, and what the run is measured with."""

    engine: str
    settings: dict[str, Value]
    measure: replay.Measure
    summariser: str
    scorer: str = ""


class BadForm(ValueError):
    """Something typed cannot be taken; the text is a sentence, `field` the control it is about."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


def find_spec(specs: Sequence[EngineSpec], name: str) -> EngineSpec | None:
    """The engine of a key, or of an id (its newest version); None where there is none."""
    found = [spec for spec in specs if spec.key == name] or [spec for spec in specs if spec.id == name]
    return found[-1] if found else None


def default_engines(specs: Sequence[EngineSpec], *, has_windows: bool = True) -> list[EngineSpec]:
    """What "Run the defaults" runs: the tail, everything, and two engines in their newest version; and what was
    recorded, for its scorecard, where the session has windows."""
    baselines = [spec for name in ("keep-tail", "keep-all") if (spec := find_spec(specs, name))]
    # The last of an id is its newest version, as an id alone means it everywhere.
    others = {spec.id: spec for spec in specs if not spec.is_baseline and spec.id != AS_RECORDED}
    first = [others.pop(name) for name in PREFERRED if name in others]
    recorded = [spec for spec in specs if spec.id == AS_RECORDED and has_windows][-1:]
    return [*baselines, *[*first, *others.values()][:2], *recorded]


def run_form(
    specs: Sequence[EngineSpec], spec: EngineSpec, typed: Mapping[str, str], *, error: str = "", wrong: str = ""
) -> RunForm:
    """The form of `spec` with what was typed, else with the defaults."""
    engines = tuple(
        EngineChoice(one.key, f"{one.label} {one.version}", one.summary, one.key == spec.key) for one in specs
    )
    fields = tuple(_field(setting, typed, error, wrong) for setting in spec.settings)
    return RunForm(
        spec.key, spec.label, spec.summary, spec.simulated, tuple(spec.qualities.items()), engines,
        _measure(typed, error, wrong), fields, tuple(replay.summariser_choices()) if spec.uses_summariser else (),
        typed.get("summariser", "")[:MOST_TYPED],
        tuple(one.id for one in replay.scorer_specs()) if spec.uses_scorer else (),
        typed.get("scorer", "")[:MOST_TYPED], error,
    )  # fmt: skip


def _field(setting: Setting, typed: Mapping[str, str], error: str, wrong: str) -> FieldView:
    name = PREFIX + setting.key
    value = typed.get(name, plain(setting.default))[:MOST_TYPED]
    kind = setting.kind if setting.kind in ("bool", "choice", "text") else "number"
    return FieldView(
        name, setting.key, kind, value, value.lower() in ("true", "on", "yes", "1"), _words(setting.default),
        setting.help, setting.unit, _edge(setting.least),
        str(_longest(setting)) if kind == "text" else _edge(setting.most),
        "1" if setting.kind == "int" else "any", range_words(setting), setting.choices, setting.is_what_if,
        error if wrong == name else "",
    )  # fmt: skip


def _measure(typed: Mapping[str, str], error: str, wrong: str) -> tuple[FieldView, ...]:
    def number(name: str, label: str, empty: str, help: str) -> FieldView:
        return FieldView(
            name, label, "number", typed.get(name, "")[:MOST_TYPED], False, empty, help, "tokens", "0",
            str(BIGGEST_TOKENS), "1", "", (), True, error if wrong == name else "",
        )  # fmt: skip

    estimator = FieldView(
        "estimator", "Estimator", "choice", typed.get("estimator", "")[:MOST_TYPED], False, ESTIMATOR,
        "Counts the windows of the run, whatever the engine counts with.", "", "", "", "", "",
        ("", *(one for one in ESTIMATORS if one != ESTIMATOR)), False,
        error if wrong == "estimator" else "",
    )  # fmt: skip
    return (
        number(
            "window", "Context window", "the session's own", "What the model takes at most. Empty is the session's own."
        ),
        number("reserve", "Reserve", "0", "Kept free of it for the answer. Empty is none, 0."),
        estimator,
    )


def plain(value: Value) -> str:
    """A setting's value as it stands in its control."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _words(value: Value) -> str:
    """A default as people read it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


def _edge(bound: float | None) -> str:
    return "" if bound is None else f"{bound:.12g}"


def range_words(setting: Setting) -> str:
    """What a number may be: "0 to 10,000,000 tokens", or how long a text: "Up to 100 characters"; "" where there is no
    bound."""
    low, high = setting.least, setting.most
    if setting.kind == "text":
        return f"Up to {_longest(setting):,} characters"
    unit = f" {setting.unit}" if setting.unit else ""
    if low is not None and high is not None:
        return f"{low:,g} to {high:,.12g}{unit}" if high < 1e6 else f"{low:,.12g} to {high:,.0f}{unit}"
    if low is not None:
        return f"{low:,.12g}{unit} or more"
    return f"up to {high:,.12g}{unit}" if high is not None else ""


def asked_of(spec: EngineSpec, typed: Mapping[str, str]) -> Asked:
    """What was typed, as services take it; blank fields are left to the engine. Raises BadForm."""
    settings: dict[str, Value] = {}
    for setting in spec.settings:
        name = PREFIX + setting.key
        if setting.kind == "bool":
            # A box that is not ticked sends nothing; its hidden twin says that it was there.
            if name in typed or f"{name}-shown" in typed:
                settings[setting.key] = typed.get(name, "false").lower() in ("true", "on", "yes", "1")
        elif typed.get(name, "").strip():
            settings[setting.key] = _taken(setting, name, typed[name].strip())
    estimator = typed.get("estimator", "").strip()
    if estimator and estimator not in ESTIMATORS:
        raise BadForm(f"There is no estimator {estimator[:40]!r}. There are: {', '.join(ESTIMATORS)}.", "estimator")
    measure = replay.Measure(
        window=_tokens(typed, "window", "The context window"), reserve=_tokens(typed, "reserve", "The reserve"),
        system_tokens=_tokens(typed, "system_tokens", "The system prompt"),
        estimator=estimator or None,
    )  # fmt: skip
    return Asked(
        spec.key, settings, measure, typed.get("summariser", "")[:MOST_TYPED], typed.get("scorer", "")[:MOST_TYPED]
    )  # fmt: skip


def _taken(setting: Setting, name: str, text: str) -> Value:
    if setting.kind == "text":
        if len(text) > _longest(setting):
            raise BadForm(
                f"{setting.key} may have {_longest(setting):,} characters; these are {len(text):,}.", name
            )  # fmt: skip
        if not text.isprintable():
            raise BadForm(f"{setting.key} is a text on one line, without control characters.", name)
        return text
    if setting.kind == "choice":
        if text in setting.choices:
            return text
        listed = ", ".join(setting.choices)
        raise BadForm(f"{setting.key} is one of {listed}; {text[:40]!r} is none of them.", name)
    number = decimal_of(text, is_grouped=True)
    if number is None:
        raise BadForm(f"{setting.key} is a number; {text[:40]!r} is none.", name)
    if setting.kind == "int" and number != int(number):
        raise BadForm(f"{setting.key} is a whole number; {text[:40]!r} is none.", name)
    too_small = setting.least is not None and number < setting.least
    too_large = setting.most is not None and number > setting.most
    if too_small or too_large:
        raise BadForm(f"{setting.key} may be {range_words(setting)}; {text[:40]} is not.", name)
    return int(number) if setting.kind == "int" else number


def _longest(setting: Setting) -> int:
    return MOST_TYPED if setting.most is None else min(MOST_TYPED, int(setting.most))


def _tokens(typed: Mapping[str, str], name: str, label: str) -> int | None:
    text = typed.get(name, "").strip()
    if not text:
        return None
    number = decimal_of(text, is_grouped=True)
    if number is None or number != int(number) or not 0 <= number <= BIGGEST_TOKENS:
        raise BadForm(f"{label} is a number of tokens up to {BIGGEST_TOKENS:,}; {text[:40]!r} is none.", name)
    return int(number)


def as_typed(values: Mapping[str, Any], declared: Sequence[Setting]) -> dict[str, str]:
    """The settings of a run as its form would hold them."""
    known = {setting.key for setting in declared}
    return {PREFIX + key: plain(value) for key, value in values.items() if key in known and value is not None}
