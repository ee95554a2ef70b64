"""The estimator past the tokenizer's Python half: the same numbers, without the vocabulary in this process twice."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from contextviz.tokens import estimate as module
from contextviz.tokens.estimate import ESTIMATOR, MOST_AT_ONCE, TOKENIZERS, estimate

TEXTS = (
    "", "hello world", "don't stop\r\n\r\n  now", "今天我们检查会话窗口", "<|endoftext|> is plain text",
    "İ ſ K שׁ 😀\u200d", "def f(x):\n\treturn x  # 1234567\n" * 50,
)  # fmt: skip


@pytest.mark.slow  # loads the whole tokenizer
def test_it_counts_what_the_tokenizer_encodes() -> None:
    encoding = import_module(TOKENIZERS[ESTIMATOR]).get_encoding(ESTIMATOR)

    assert [estimate(text) for text in TEXTS] == [len(encoding.encode_ordinary(text)) for text in TEXTS]


@pytest.mark.slow
def test_without_the_compiled_half_where_we_know_it_the_package_itself_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [estimate(text) for text in TEXTS]
    monkeypatch.setattr(module, "_NATIVE", "not_there")
    module._counter.cache_clear()
    try:
        assert [estimate(text) for text in TEXTS] == wanted
    finally:
        module._counter.cache_clear()


def test_the_vocabulary_is_not_read_a_second_time_for_decoding() -> None:
    code = (
        "import sys; from contextviz.tokens.estimate import estimate; estimate('x'); print('bpe_openai' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "False"


def test_longer_texts_than_the_tokenizer_takes_are_counted_in_pieces() -> None:
    lines = "one line of words\n" * (MOST_AT_ONCE // 10)

    assert len(lines) > MOST_AT_ONCE
    assert estimate(lines) == (MOST_AT_ONCE // 10) * estimate("one line of words\n")


def test_texts_of_too_many_tokens_are_counted_in_pieces() -> None:
    text = "漢" * 300_000

    assert estimate(text) == sum(estimate(text[start : start + 50_000]) for start in range(0, 300_000, 50_000))
