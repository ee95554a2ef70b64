"""Words in a Markdown copy: a reader of Markdown gives them back as they are, and they have no mark too many."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from contextviz.services.export.as_markdown import MarkdownCopy, escaped

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# Pieces that mean something somewhere, so that most of what is drawn is close to markup.
PIECES = (
    *"\\`*_{}[]()#+-.!|<>~&$:@^=\"'/?, a1Zé", "  ", "\n", "www.", "http://", "](", "]:", "<b", "</b>", "<!--", "&amp;",
    "&#35;", "1.", "12)", "- ", "# ", "###### ", "[x] ", "![", "```", "~~", "---", "* * *", "\\\\", "a@b.c", "$x$",
)  # fmt: skip
WORDS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def plain(text: str) -> str:
    return " ".join(text.split())


def said(markdown: str, opening: str) -> tuple[set[str], list[str]]:
    """Kinds of tokens that stand in a text, and the words of those that begin with `opening`."""
    tokens = READER.parse(markdown)
    inside = [child for token in tokens for child in token.children or ()]
    blocks = [
        "".join(child.content for child in after.children or ())
        for before, after in pairwise(tokens)
        if before.type == opening and after.type == "inline"
    ]
    return {token.type for token in [*tokens, *inside] if not is_words(token)}, blocks


def is_words(token: Token) -> bool:
    return token.type in {"text", "inline"}


@hypothesis_settings(max_examples=300, deadline=None)
@given(text=WORDS)
@example(text="# a\\")
@example(text="C:\\*.py | <b>x</b> &lt; #")
@example(text="[a](<b> 'c') __init__ a__b")
def test_words_come_back_from_every_place_and_are_no_markup_there(text: str) -> None:
    copy, words = MarkdownCopy(), plain(text)

    heading = said(copy.title(text), "heading_open")
    item = said(copy.line(text), "paragraph_open")
    paragraph = said("".join(copy.entry("entry", [(text, "")])), "paragraph_open")
    after = said(f"- **Title**: {escaped(text)}\n- **Next**: one\n", "paragraph_open")

    assert heading == ({"heading_open", "heading_close"}, [words])
    if words:
        lists = {"bullet_list_open", "list_item_open", "paragraph_open", "paragraph_close", "list_item_close",
                 "bullet_list_close"}  # fmt: skip
        assert item == (lists, [words])
        assert paragraph[1] == [words]
        assert paragraph[0] == {"heading_open", "heading_close", "paragraph_open", "paragraph_close"}
        assert after == (lists | {"strong_open", "strong_close"}, [f"Title: {words}", "Next: one"])


@hypothesis_settings(max_examples=300, deadline=None)
@given(cells=st.lists(WORDS, min_size=2, max_size=4))
def test_cells_stay_in_their_columns(cells: list[str]) -> None:
    copy = MarkdownCopy()
    written = copy.head_row(tuple("h" * len(cells))) + copy.row(cells) + copy.table_end()

    kinds, found = said(written, "td_open")

    assert found == [plain(cell) for cell in cells]
    assert kinds == {
        f"{name}_{end}" for name in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")
    }


@pytest.mark.parametrize(
    "text",
    [
        "claude-code", "2026-11-30T01:11:05+00:00", "a_file_name.py, a__b", "[Mon 01:30 UTC] Turn 1 (first)", "$0.53",
        "a -> b, 1 < 2", "--flag", "C:\\Users\\me", "AT&T", "C#", "100 % + 2 = 3!", "1.5 k", "{a: b}", "2026 and 1)a",
    ],
)  # fmt: skip
def test_what_is_no_markup_has_no_backslash(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("https://a.b", "https\\://a.b"), ("www.a.b", "www\\.a.b"), ("ask @me", "ask \\@me"), ("see #12", "see \\#12"),
        ("$x$", "\\$x\\$"), ("~a~", "\\~a\\~"),
    ],
)  # fmt: skip
def test_what_sites_make_of_words_beyond_markdown_is_kept_from_them(text: str, written: str) -> None:
    assert escaped(text) == written
