"""Texts: once each, in packs, found again by any beginning of their hash."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import pytest

from contextviz.events.text import TextRef
from contextviz.store import texts as pools
from contextviz.store.models import TextPackRecord, TextRecord
from contextviz.store.queries import texts
from contextviz.store.texts import PACK_BYTES, StoreTextPool, TextReader


def test_a_text_comes_back_before_and_after_it_is_packed(pool: StoreTextPool) -> None:
    ref = pool.put("Grüße\nfrom a transcript")
    assert pool.get(ref) == "Grüße\nfrom a transcript"

    pool.flush()

    assert pool.get(ref) == TextReader().get(ref) == "Grüße\nfrom a transcript"
    assert (ref.chars, ref.size) == (23, 25)


def test_the_same_text_is_kept_once_and_counted_once(db: None) -> None:
    counted: list[str] = []
    for _ in range(2):
        pool = StoreTextPool(count=lambda text: counted.append(text) or 1, estimator="words")  # type: ignore[func-returns-value]
        first, second = pool.put("again and again"), pool.put("again and again")
        assert first == second
        pool.flush()

    assert counted == ["again and again"]
    assert TextRecord.objects.count() == TextPackRecord.objects.count() == 1


def test_packs_are_closed_at_256_kib(pool: StoreTextPool) -> None:
    for number in range(10):
        pool.put(str(number) * 70_000)

    pool.flush()

    assert TextPackRecord.objects.count() == 3
    assert max(TextPackRecord.objects.values_list("raw_size", flat=True)) < PACK_BYTES + 70_000


def test_half_surrogates_and_nul_are_replaced(pool: StoreTextPool) -> None:
    assert pool.get(pool.put("a\x00b\ud800c")) == "a\ufffdb\ufffdc"


def test_an_empty_text_is_a_text(pool: StoreTextPool) -> None:
    ref = pool.put("")
    pool.flush()
    assert TextReader().get(ref) == ""


def test_a_text_that_is_not_held_is_a_key_error(pool: StoreTextPool) -> None:
    with pytest.raises(KeyError):
        TextReader().get(TextRef(b"\x01" * 32, 1, 1, 1))


def test_many_texts_are_read_with_two_queries(pool: StoreTextPool, django_assert_num_queries: Any) -> None:
    refs = [pool.put(f"text {number}") for number in range(500)]
    pool.flush()

    with django_assert_num_queries(2):
        found = TextReader().get_many(refs)

    assert found[refs[321].digest] == "text 321"


def test_the_beginning_of_a_long_text_says_that_it_is_cut(pool: StoreTextPool) -> None:
    ref, short = pool.put("ü" * 5000), pool.put("short")
    pool.flush()

    found = TextReader().beginnings([ref, short], chars=10)

    assert (found[ref.digest].text, found[ref.digest].is_cut) == ("ü" * 10, True)
    assert (found[short.digest].text, found[short.digest].is_cut) == ("short", False)


@pytest.mark.parametrize("digits", [6, 7, 24, 64])
def test_a_text_is_found_by_any_beginning_of_its_hash(pool: StoreTextPool, digits: int) -> None:
    pool.put("needle")
    pool.put("hay")
    pool.flush()
    sha256 = hashlib.sha256(b"needle").hexdigest()

    assert [place.sha256 for place in texts.find_texts(sha256[:digits].upper())] == [sha256]


@pytest.mark.parametrize("prefix", ["", "abc", "zzzzzz", "g" * 24, "a" * 65, "' OR 1=1 --"])
def test_what_is_no_hash_finds_nothing(pool: StoreTextPool, prefix: str) -> None:
    pool.put("needle")
    pool.flush()
    assert texts.find_texts(prefix) == []


def words_pool(told: list[int] | None = None) -> StoreTextPool:
    on_put = None if told is None else told.append
    return StoreTextPool(count=lambda text: len(text.split()), estimator="words", on_put=on_put)


def writers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("text-packs")]


def test_many_packs_are_written_by_a_thread_that_goes_away(transactional_db: None) -> None:
    told: list[int] = []
    pool = words_pool(told)
    given = [f"{number} " * 40_000 for number in range(40)]
    refs = [pool.put(text) for text in given]
    assert writers(), "one thread for all of them"

    pool.flush()
    pool.close()

    assert not writers()
    assert [ref.estimated_tokens for ref in refs] == [40_000] * 40
    held = TextReader().get_many(refs)
    assert [held[ref.digest] for ref in refs] == given
    assert sum(told) == sum(map(len, given))


def test_the_thread_says_when_it_has_nothing_to_write(transactional_db: None) -> None:
    said: list[tuple[str, int]] = []
    pool = StoreTextPool(
        count=lambda text: len(text.split()), estimator="words",
        when_idle=lambda: said.append((threading.current_thread().name, TextRecord.objects.count())),
    )  # fmt: skip
    for number in range(10):
        pool.put(f"{number} " * 140_000)
    pool.flush()
    pool.close()

    assert all(name.startswith("text-packs") for name, _ in said)
    assert said[-1][1] == 10, "after its last transaction at least"


def test_what_cannot_be_written_beside_is_an_error_where_it_is_waited_for(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(pools, "write_pack", refuse)
    pool = words_pool()
    for number in range(10):
        pool.put(f"{number} " * 140_000)
    with pytest.raises(OSError, match="the disk is full"):
        pool.flush()

    pool.close()
    assert not writers()
    assert not TextRecord.objects.exists()
