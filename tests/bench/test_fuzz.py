"""The fuzzing of readers: its rules notice what breaks them, its changes keep what they are made from."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path
from random import Random

import pytest

from bench.fuzz.driving import HEADER, Driver
from bench.fuzz.families import FAMILIES, seeds_of
from bench.fuzz.mutating import SQLITE, mutated
from bench.fuzz.oracle import Broken, Oracle, TooSlow, arm, place_of
from contextviz.sources import files
from contextviz.sources.lines import JsonLines

LINES = b'{"type":"session","version":3,"id":"s"}\n{"type":"message","id":"m","parentId":null}\n'


def oracle_of(family: str, folder: Path) -> Oracle:
    return Oracle(seeds_of(family, folder / "seeds"), folder / "scratch", is_growing=family == "growing")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_seed_holds_the_rules_as_it_is(tmp_path: Path, family: str) -> None:
    oracle = oracle_of(family, tmp_path)

    for number, seed in enumerate(oracle.seeds):
        assert seed.files
        for file in range(len(seed.files)):
            oracle.check(number, file, oracle.original(number, file))


def test_a_reader_that_raises_and_a_line_that_is_not_accounted_for_are_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = oracle_of("jsonl", tmp_path)
    monkeypatch.setattr(JsonLines, "_malformed", lambda *_arguments: None)
    with pytest.raises(Broken, match="13 lines, of which 12 are accounted for"):
        oracle.check(0, 0, oracle.original(0, 0) + b"no record\n")

    def broken(*_arguments: object) -> None:
        raise KeyError("id")

    monkeypatch.setattr(files, "detect", broken)
    with pytest.raises(KeyError) as caught:
        oracle.check(0, 0, LINES)
    assert place_of(caught.value).startswith("KeyError sources/files.py:")


def test_a_driver_keeps_one_input_of_a_kind_the_smallest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(oracle_of("jsonl", tmp_path), place_of, tmp_path, "hypothesis")
    monkeypatch.setattr(Oracle, "check", _fails)

    for raw in (b"\x00\x00 a longer one", b"\x00\x00 short", b"\x00"):
        driver.one(raw)

    (kept,) = (tmp_path / "found").glob("*.bin")
    assert kept.read_bytes() == b"\x00\x00 short"
    assert "always" in kept.with_suffix(".txt").read_text()


def _fails(*_arguments: object) -> None:
    raise Broken("always")


def test_an_input_is_changed_and_stays_of_its_seed_or_becomes_another_seeds(tmp_path: Path) -> None:
    driver = Driver(oracle_of("logs", tmp_path), place_of, tmp_path, "hypothesis")
    raw = b"\x01\x00" + driver.oracle.original(1, 0)

    made = [driver.mutate(raw, 10_000, number) for number in range(200)]

    assert sum(one[:HEADER] == raw[:HEADER] for one in made) > 150
    assert len(set(made)) > 150


@pytest.mark.parametrize("number", range(3))
def test_the_same_draw_makes_the_same_change(number: int) -> None:
    assert mutated(LINES, Random(number)) == mutated(LINES, Random(number))


def test_changes_of_json_lines_are_mostly_json_lines_again() -> None:
    whole = sum(_is_lines(mutated(LINES, Random(number))) for number in range(200))

    assert whole > 80


def _is_lines(data: bytes) -> bool:
    try:
        return all(isinstance(json.loads(line), object) for line in data.split(b"\n") if line.strip())
    except (ValueError, RecursionError):
        return False


def test_a_store_is_mostly_a_store_after_a_change(tmp_path: Path) -> None:
    (seed,) = [one for one in seeds_of("stores", tmp_path) if one.name == "flowctx"]
    data = seed.files[0].path.read_bytes()

    made = [mutated(data, Random(number)) for number in range(60)]

    assert data.startswith(SQLITE)
    assert sum(_opens(one) for one in made) > 25
    assert sum(one != data for one in made) > 40


def _opens(data: bytes) -> bool:
    store = sqlite3.connect(":memory:")
    try:
        store.deserialize(data)
        return bool(store.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False
    finally:
        store.close()


def test_more_memory_than_a_small_file_may_take_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.fuzz.oracle.MOST_GROWTH", -1)

    with pytest.raises(Broken, match="0 MiB more memory for 3 bytes"):
        oracle_of("logs", tmp_path).check(0, 0, b"{}\n")


def test_reading_without_an_end_is_ended_and_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_arguments: object) -> None:
        while True:
            pass

    oracle = oracle_of("logs", tmp_path)
    monkeypatch.setattr("bench.fuzz.oracle.MOST_SECONDS", 0.05)
    monkeypatch.setattr(files, "detect", endless)
    before = signal.getsignal(signal.SIGPROF)
    arm()
    try:
        with pytest.raises(TooSlow):
            oracle.check(0, 0, b"{}\n")
    finally:
        signal.signal(signal.SIGPROF, before)
