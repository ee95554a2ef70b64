"""The palette: the token file and the Python names agree, and the colours can be told apart."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from contextviz.charts import palette

TOKENS = Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css"
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
COLOURS = {name: (light, dark) for name, light, dark in PAIR.findall(TOKENS.read_text(encoding="utf-8"))}
THEMES = ((0, "light"), (1, "dark"))

# Machado, Oliveira and Fernandes (2009), severity 1, on linear sRGB.
SIGHTS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def linear(colour: str) -> tuple[float, ...]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def times(matrix: tuple[tuple[float, ...], ...], vector: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def contrast(one: str, other: str) -> float:
    light, dark = sorted((times(((0.2126, 0.7152, 0.0722),), linear(c))[0] for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def distance(one: str, other: str, sight: str) -> float:
    labs = []
    for colour in (one, other):
        seen = tuple(min(max(part, 0.0), 1.0) for part in times(SIGHTS[sight], linear(colour)))
        labs.append(times(TO_LAB, tuple(part ** (1 / 3) for part in times(TO_LMS, seen))))
    return 100 * sum((a - b) ** 2 for a, b in zip(*labs, strict=True)) ** 0.5


def test_each_category_names_a_colour_of_the_token_file_and_no_other_is_left_over():
    assert [f"c-{found.key}" for found in palette.CATEGORIES] == [name for name in COLOURS if name.startswith("c-")]
    assert [f"var(--{name})" for name in COLOURS if name.startswith("lane-")] == list(palette.LANES)


def test_every_variable_that_a_figure_names_stands_in_the_token_file():
    used = {
        name
        for path in Path(palette.__file__).parent.glob("*.py")
        for name in re.findall(r"var\(--([a-z0-9-]+)\)", path.read_text())
    }
    assert used - {"c-", "lane-"} <= set(COLOURS)


@pytest.mark.parametrize(("at", "theme"), THEMES, ids=["light", "dark"])
def test_each_category_has_three_to_one_on_its_surface(at, theme):
    surface = COLOURS["surface"][at]
    assert {
        name: round(contrast(c[at], surface), 2)
        for name, c in COLOURS.items()
        if name.startswith(("c-", "lane-")) and contrast(c[at], surface) < 3
    } == {}


@pytest.mark.parametrize(("at", "theme"), THEMES, ids=["light", "dark"])
def test_text_colours_reach_four_and_a_half_to_one(at, theme):
    pairs = [
        ("ink", "selected"),
        ("ink-2", "selected"),
        ("ink-3", "selected"),
        ("ink-3", "bg"),
        ("orange-ink", "orange-wash"),
        ("lost", "surface"),
        ("ok", "surface"),
    ]
    assert [(ink, ground) for ink, ground in pairs if contrast(COLOURS[ink][at], COLOURS[ground][at]) < 4.5] == []
    assert contrast(COLOURS["ctl"][at], COLOURS["surface"][at]) >= 3


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(("at", "theme"), THEMES, ids=["light", "dark"])
def test_any_two_categories_can_be_told_apart(at, theme, sight):
    names = [name for name in COLOURS if name.startswith("c-")]
    close = {
        (one, other): round(distance(COLOURS[one][at], COLOURS[other][at], sight), 1)
        for one, other in itertools.combinations(names, 2)
        if distance(COLOURS[one][at], COLOURS[other][at], sight) < (11 if sight == "normal" else 6)
    }
    assert close == {}


def test_neighbours_in_the_stack_are_farther_apart_than_others():
    for at, _ in THEMES:
        for one, other in itertools.pairwise(palette.CATEGORIES):
            assert distance(COLOURS[f"c-{one.key}"][at], COLOURS[f"c-{other.key}"][at], "normal") >= 10.5


def test_a_category_nobody_named_keeps_its_key_as_its_name():
    assert palette.category("side_note").name == "Side note"
