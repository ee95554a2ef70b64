"""Likeness by vectors: paraphrases found, the same scores however texts come, no network, and a sentence without it."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from contextviz.engines.openbrain import OpenBrain
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.scoring import Bm25, vectors
from contextviz.engines.scoring import registry as registered
from contextviz.engines.scoring.registry import scorer, scorers
from contextviz.engines.scoring.scorer import NoSuchScorer, best_of
from contextviz.engines.scoring.vectors import BATCH, MOST_CHARS, Vectors
from contextviz.tokens.pool import MemoryPool
from tests.engines.building import SHORT, session

NEEDED = ("wordllama", "tokenizers", "safetensors")
installed = pytest.mark.skipif(
    Vectors.id not in [one.id for one in scorers()], reason="the extra `semantic` is not installed"
)
PARAPHRASES = [
    ("fix the failing login test", "repair authentication unit test that breaks"),
    ("the database is slow", "queries of the SQL server take too long"),
    ("write documentation for the new function", "add a docstring that explains this method"),
    ("the server ran out of memory", "the process was killed because RAM was exhausted"),
]
UNRELATED = "whisk butter, sugar and eggs, then bake the cake for forty minutes"


def index(*texts: str) -> Vectors:
    made = Vectors()
    assert [made.add(text) for text in texts] == list(range(len(texts)))
    return made


@installed
@pytest.mark.parametrize(("query", "same"), PARAPHRASES)
def test_a_paraphrase_is_above_what_is_unrelated(query: str, same: str) -> None:
    found = dict(index(UNRELATED, same).top(query, 2))
    assert found[1] > 0.2 and found[1] > found.get(0, 0.0) + 0.15


@installed
def test_each_query_finds_its_own_paraphrase_where_words_do_not() -> None:
    made = index(UNRELATED, *(same for _, same in PARAPHRASES))
    by_words = Bm25([UNRELATED, *(same for _, same in PARAPHRASES)])
    assert [made.top(query, 1)[0][0] for query, _ in PARAPHRASES] == [1, 2, 3, 4]
    assert [[number for number, _ in by_words.top(query, 1)] for query, _ in PARAPHRASES] != [[1], [2], [3], [4]]


@installed
def test_a_text_is_most_like_itself_and_equal_ones_come_in_order() -> None:
    made = index("one thing", "another matter", "one thing", "one thing")
    first, second, third = made.top("one thing", 3)
    assert [first[0], second[0], third[0]] == [0, 2, 3]
    assert first[1] == second[1] == third[1] == pytest.approx(1, abs=0.001)
    assert [number for number, _ in made.top("one thing", 2)] == [0, 2]


@installed
def test_scores_are_the_same_however_the_texts_come() -> None:
    texts = [f"line {n} of module {n % 7}: {('parse', 'render', 'store')[n % 3]} it" for n in range(2 * BATCH + 9)]
    at_once, one_by_one = index(*texts), Vectors()
    for number, text in enumerate(texts):
        assert one_by_one.add(text) == number
        if number % 50 == 0:
            assert len(one_by_one.top("store the module", 5)) == min(5, number + 1)
    assert one_by_one.top("store the module", 100) == at_once.top("store the module", 100)
    alone = index(texts[-1]).top("store the module", 1)[0][1]
    assert dict(at_once.top("store the module", len(texts)))[len(texts) - 1] == alone


@installed
def test_sums_are_exact_in_any_order() -> None:
    made = index(*(text for pair in PARAPHRASES for text in pair), UNRELATED)
    made.top("settle", 1)
    table = made._vectors[: len(made._known)]
    assert np.array_equal(table * 2048, np.rint(table * 2048))
    exact = table.astype(np.float64) @ table.astype(np.float64).T
    assert np.array_equal((table @ table.T).astype(np.float64), exact)
    assert np.array_equal((table[:, ::-1].copy() @ table[:, ::-1].T).astype(np.float64), exact)


@installed
def test_a_text_without_tokens_is_like_nothing() -> None:
    made = index("", "words of some kind", "")
    assert [number for number, _ in made.top("words of some kind", 9)] == [1]
    assert made.top("", 9) == [] and made.top("words", 0) == [] and Vectors().top("words", 9) == []


@installed
@pytest.mark.parametrize("text", ["\ud800 half an emoji", "a\x00b", "</s><s><unk>", "漢字 😀", "x" * 3 * MOST_CHARS])
def test_any_text_can_be_added_and_asked_for(text: str) -> None:
    made = index(text, "something else")
    assert made.top(text, 1)[0][0] == 0


@installed
def test_the_beginning_of_a_long_text_counts() -> None:
    start = "the parser fails on empty lines " * (MOST_CHARS // 32)
    made = index(start[:MOST_CHARS], start[:MOST_CHARS] + " and now about cakes" * 5_000)
    assert len({score for _, score in made.top("the parser fails", 2)}) == 1
    assert len(made._known) == 1


@installed
def test_the_package_is_never_run_and_no_network_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("asks the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    vectors._model.cache_clear()
    assert index("a text").top("a text", 1)
    assert "wordllama" not in sys.modules and "huggingface_hub" not in sys.modules


@installed
def test_a_replay_by_vectors_says_so_and_is_the_same_again() -> None:
    material = session(
        [("user", PARAPHRASES[0][1]), ("assistant", "done"), ("user", UNRELATED), ("assistant", "tasty"),
         ("user", PARAPHRASES[0][0]), ("assistant", "again")]
    )  # fmt: skip
    runs = [
        replay(material, OpenBrain, RunRequest(window=4_000), pool=MemoryPool(), summarise=SHORT, scorer=scorer(name))
        for name in (Vectors.id, Vectors.id, "bm25")
    ]
    assert [run.scorer for run in runs] == [Vectors.id, Vectors.id, "bm25"]
    assert [call.hash for call in runs[0].calls] == [call.hash for call in runs[1].calls]


@pytest.mark.parametrize("missing", NEEDED)
def test_without_the_extra_it_is_refused_in_a_sentence(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)  # how an import is made to fail
    vectors._model.cache_clear()
    for make in (lambda: scorer("wordllama-256"), Vectors):
        with pytest.raises(NoSuchScorer, match=r"pip install contextviz-dashboard\[semantic\]") as refused:
            make()
        assert missing in str(refused.value)
    assert [one.id for one in scorers()] == ["bm25"]
    assert scorer() is Bm25


@installed
def test_files_that_are_gone_or_damaged_are_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors._model.cache_clear()
    monkeypatch.setattr(vectors, "_WEIGHTS", "weights/of_another_version.safetensors")
    with pytest.raises(NoSuchScorer, match="finds no weights/of_another_version"):
        scorer("wordllama-256")
    monkeypatch.undo()
    broken = tmp_path / "broken"
    broken.write_bytes(b"no tensors")
    monkeypatch.setattr(vectors, "_files", lambda: (broken, broken))
    with pytest.raises(NoSuchScorer, match="cannot be read"):
        Vectors()
    vectors._model.cache_clear()


def test_an_unknown_scorer_is_a_sentence_with_those_that_are() -> None:
    with pytest.raises(NoSuchScorer, match=r"no scorer 'bm52'. Did you mean bm25\? There are: bm25, wordllama-256"):
        scorer("bm52")


def test_every_scorer_has_its_line(repository: Path) -> None:
    text = (repository / "docs" / "engines" / "scorers.md").read_text(encoding="utf-8")
    assert [one.id for one in registered._ALL if f"| `{one.id}`" not in text] == []


def test_the_best_are_picked_as_sorting_would() -> None:
    scores = np.array([0.5, 0.0, 0.9, 0.5, -0.2, 0.5, 0.1])
    whole = [(2, 0.9), (0, 0.5), (3, 0.5), (5, 0.5), (6, 0.1)]
    assert [best_of(scores, limit) for limit in range(8)] == [whole[:limit] for limit in range(8)]
