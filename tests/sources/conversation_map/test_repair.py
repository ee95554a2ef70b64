"""Documents that are almost JSON."""

from __future__ import annotations

import pytest

from contextviz.sources.conversation_map.repair import read_document


@pytest.mark.parametrize(
    ("raw", "document"),
    [
        (b'{"a": [1, 2,], "b": {"c": 1,},}', {"a": [1, 2], "b": {"c": 1}}),
        (b'{"a": "x" "b": 1 "c": [{"d": 1} {"d": 2}]}', {"a": "x", "b": 1, "c": [{"d": 1}, {"d": 2}]}),
        (b'{"e": [{"id": "a"}, {"id": "b", "summary": "half } [', {"e": [{"id": "a"}]}),
        (b'{"s": "a , } b",}', {"s": "a , } b"}),
        (b'{"s": "say \\"hi,\\" ]",}', {"s": 'say "hi," ]'}),
    ],
)
def test_a_damaged_document_is_mended_and_the_repair_is_told(raw: bytes, document: object) -> None:
    read = read_document(raw)
    assert read.document == document
    assert read.repairs


@pytest.mark.parametrize("raw", [b'{"a": 1}', b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16")])
def test_a_good_document_is_left_as_it_is(raw: bytes) -> None:
    read = read_document(raw)
    assert (read.document, read.repairs) == ({"a": 1}, [])


@pytest.mark.parametrize("raw", [b"", b"nothing", b"[1, 2]", b'{"a": ', b"{" * 5000, b"]" * 50, b'{"a" "' + b'"' * 999])
def test_what_cannot_be_mended_is_none(raw: bytes) -> None:
    assert read_document(raw).document is None
