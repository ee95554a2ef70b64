from __future__ import annotations

import json
import random
import time

import pytest

from contextviz.engines.flowctx import (
    Node,
    Row,
    Scratchpad,
    Store,
    Timeline,
    Tree,
    TreeConfig,
    active,
    choose_cli_rule,
    clip_json,
    clip_line,
    cover_end,
    cp_weighted,
    detect,
    explore,
    hash_of,
    keep_tail,
    marker,
    minify_json,
    parse_marker,
    placeholder,
    plan,
    project,
    resolve_config,
    simulate,
    structured,
    truncate,
)
from contextviz.events.javascript import length16
from contextviz.events.message import Role
from tests.engines.building import START

CJK = "\u5b57"
LOG = "\n".join(f"ERROR request {number} dropped after {number * 7} ms" for number in range(40))


def talk(turns: int, tokens: int = 100, answers: int = 1) -> list[tuple[Role, str]]:
    """Turns of a question and answers, each message of `tokens` by four characters a token."""
    made: list[tuple[Role, str]] = []
    for turn in range(turns):
        made.append(("user", f"question {turn} ".ljust(4 * tokens, "q")))
        made += [("assistant", f"answer {turn}.{at} ".ljust(4 * tokens, "a")) for at in range(answers)]
    return made


# ---- detection and reducers ----


@pytest.mark.parametrize(
    ("text", "tool", "wanted"),
    [
        ('{"a": NaN}', None, "text"),
        ("\ufeff{}", None, "text"),
        ("x\r@@ -1 +1 @@", None, "diff"),
        ("plain", "write notes.PY", "code"),
        ("plain", "write notes.python", "text"),
        ("import a\nfrom b import c\n```\nx\n```", None, "text"),
        ("import a\nfrom b import c\n```", None, "code"),
        ("=== 3 PASSED ===", None, "test"),
        ("=== passed\n===", None, "text"),
        ("12 passed", None, "test"),
        ("\n".join(f"2026-01-01 10:00:{n:02} INFO up" for n in range(20)), None, "search"),
        ("\n".join(f"INFO {n}" for n in range(20)), None, "log"),
        ("\n".join(f"INFO {n}" for n in range(19)), None, "cli-output"),
        ("\n".join("a" * 8), None, "cli-output"),
        ("\n".join("a" * 7), None, "text"),
    ],
)
def test_detection_takes_the_first_rule_that_holds(text: str, tool: str | None, wanted: str) -> None:
    assert detect(text, tool) == wanted


def test_a_log_keeps_its_lines_and_loses_its_numbers() -> None:
    found = structured(LOG)

    assert found.content_type == "log"
    assert found.text is not None
    assert found.text.split("\n")[1:] == ["ERROR request # dropped after # ms  (×40)"]
    assert found.text.startswith("// log collapsed")


def test_a_failed_command_keeps_another_window_than_one_that_succeeded() -> None:
    text = "\n".join(f"step {number} of the build" for number in range(200))
    good, bad = structured(text), structured(text, exit_code=2)

    assert good.text is not None and bad.text is not None
    assert "... omitted 140 lines ..." in good.text
    assert "... omitted 100 lines ..." in bad.text


def test_search_lines_are_clipped_behind_their_place_and_a_carriage_return_hides_the_place() -> None:
    long = "\n".join(f"src/a.py:{number}:{'z' * 600}" for number in range(8))
    found = structured(long)
    with_return = structured(long.replace("\n", "\r\n"))

    assert found.content_type == with_return.content_type == "search"
    assert found.text is not None and with_return.text is not None
    assert found.text.startswith("src/a.py:0:" + "z" * 176 + " ...[280 chars omitted, sha256:")
    assert with_return.text.startswith("src/a.py:0:" + "z" * 165 + " ...[")


def test_a_removed_line_that_looks_like_a_header_is_one() -> None:
    change = "\n".join(["@@ -1,9 +1,9 @@", *(f"-old {n}" for n in range(9)), "--- also old", "-one more"])
    context = "\n".join(["", *(" context" for _ in range(20))])
    found = structured(change + context)

    assert found.text is not None
    assert found.text.split("\n")[9:] == ["  …[1 more changed line(s) in hunk omitted]…", "--- also old", "-one more"]


def test_keys_of_a_shape_come_in_the_order_of_javascript() -> None:
    text = json.dumps([{"b": 1, "10": 2, "2": None, "a": [1]}] * 20)

    found = structured(text)

    assert found.text is not None
    assert "sample=[object(keys=4: 2, 10, b, a), " in found.text


def test_clips_count_in_utf_16_and_say_how_much_is_gone() -> None:
    line = clip_line("\U0001f600" * 50, 41)
    clipped = clip_json("x" * 100, 60)

    assert line.startswith("\U0001f600" * 11 + " ...[59 chars omitted")
    assert length16(clipped) == 60
    assert "[40 chars omitted" in clipped
    assert clip_json("x" * 100, 10) == "...[90 cha"


def test_minifying_leaves_strings_as_they_are() -> None:
    assert minify_json(' { "a \\" b" : [ 1 ,\u00a0"x  y" ] } ') == '{"a \\" b":["\u00a0"]}'.replace(
        '"\u00a0"', '1,"x  y"'
    )


def test_what_fits_no_explorer_is_described_by_its_size() -> None:
    assert explore("a: 1\nb:\n  c: 2\nd: # note", file_name="x.yml").endswith("Top-level keys (2): b, d.")
    assert explore("a\tb\n", file_name="x.tsv").endswith("First row sample: (no data rows).")
    assert explore("{", mime="application/json") == "Structured summary (JSON): failed to parse as valid JSON."
    assert explore("\U0001f600", file_name=".hidden") == "Structured summary:\nCharacters: 2.\nLines: 1."


def test_colours_go_and_the_text_of_a_title_sequence_stays() -> None:
    text = "\n".join(["\x1b]0;title\x07\x1b[1;32mok\x1b[0m here", *("same" for _ in range(30))])
    found = structured(text)

    assert found.text == "0;title\x07ok here\nsame"


@pytest.mark.parametrize(
    "text",
    [
        "=" * 60_000, "=== passed " * 6_000, "\n" * 60_000, "\t" * 60_000, "1" * 60_000, ":1" * 30_000 + "\r",
        "_" * 60_000, "[flowctx: " * 6_000, "[" * 60_000, "ok " * 20_000, "\x1b[" * 30_000, "thread '" * 7_000,
        '"\\' * 30_000, "`" * 60_000, "<" * 60_000, "a" * 60_000 + "!", "\u2028" * 30_000,
    ],
)  # fmt: skip
def test_text_made_to_be_slow_is_not(text: str) -> None:
    start = time.process_time()
    structured(text)
    structured("\n".join([text] * 3))
    choose_cli_rule(text)
    parse_marker(text)
    minify_json(text)

    assert time.process_time() - start < 2


# ---- projection, markers, store ----


def test_what_is_small_stays_and_what_is_large_comes_back_whole() -> None:
    store = Store(lambda: START)
    text = "line\n" * 30 + "z" * 2000
    small = project("word", store, threshold=100, ttl_seconds=60)
    large = project(text, store, threshold=100, ttl_seconds=60, kind="tool-result")

    assert (small.text, small.is_compressed, small.hash) == ("word", False, None)
    assert large.is_compressed and large.hash == hash_of(text)
    assert store.retrieve(hash_of(text)) == text
    assert project(text, store, threshold=100, ttl_seconds=60, kind="tool-result") == large


def test_a_block_of_cjk_just_over_the_threshold_grows_and_says_so() -> None:
    store = Store(lambda: START)
    made = project(CJK * 400, store, threshold=300, ttl_seconds=60)

    assert made.route == "head-tail"
    assert made.kept_chars == 400 + 360
    assert made.tokens > made.original_tokens == 600


def test_a_tail_longer_than_the_block_is_cut_as_the_port_cuts_it() -> None:
    store = Store(lambda: START)
    block = "".join(chr(0x4E00 + place) for place in range(1000))
    made = project(block, store, threshold=1200, ttl_seconds=60)

    # 1,440 from the end of 1,000 begin 440 before it: that is 440 from the end again.
    assert made.text.endswith("\n\n" + block[-440:])
    assert made.kept_chars == 1440


def test_half_an_emoji_stays_half_and_is_hashed_as_node_does() -> None:
    store = Store(lambda: START)
    block = "x" + "\U0001f600" * 3000
    made = project(block, store, threshold=500, ttl_seconds=60)

    assert made.text.split("\n\n")[0].endswith("\ud83d")
    assert hash_of("\ud83d") == hash_of("\ufffd")
    assert made.hash is not None and store.retrieve(made.hash) == block


@pytest.mark.parametrize("name", ["flowctx-dsh", "flowctx"])
def test_markers_of_both_names_are_read(name: str) -> None:
    line = marker("0" * 24, 8400, 190, 89, "tool-result:code", name=name)
    read_back = parse_marker(f"said: {line}")

    assert "\n" not in line
    assert read_back is not None
    assert (read_back.original_chars, read_back.kept_chars, read_back.hash) == (8400, 190, "0" * 24)
    assert parse_marker("[flowctx: nothing]") is None


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


def test_originals_end_and_the_oldest_goes_first() -> None:
    clock = Clock()
    store = Store(clock, most=2)
    names = [store.store(text, 10) for text in ("a", "b", "c")]

    assert [store.retrieve(name) for name in names] == [None, "b", "c"]
    clock.now += 10_001
    assert store.retrieve(names[2]) is None
    store.store("d", 10)
    assert len(store) == 1


def test_rows_come_back_after_a_restart_until_they_end() -> None:
    clock = Clock()
    store = Store(clock, durable=True)
    name, gone = store.store("kept", 10), store.store("gone", 0)
    again = Store.of_rows(store.rows.values(), clock)

    assert again.retrieve(name) == "kept"
    assert again.retrieve(gone) is None
    assert ("refs", gone) not in again.rows
    clock.now += 10_000
    assert again.retrieve(name) == "kept"  # warm again, without an end
    assert Store.of_rows(store.rows.values(), clock).retrieve(name) is None
    assert store.rows["refs", name] == Row("refs", name, "kept", START + 10_000, START)


def test_working_memory_is_edited_and_cut() -> None:
    pad = Scratchpad(12)

    assert pad.render() is None
    assert pad.append("one") == "one"
    assert pad.append("two") == "one\ntwo"
    assert pad.replace("one", "[$&$$]") == "[one$]\ntwo"
    assert pad.replace("absent", "x") == "[one$]\ntwo"
    assert pad.rethink("0123456789\U0001f600\U0001f600") == "0123456789\U0001f600"
    assert pad.render() == (
        '<working_memory chars_current="12" chars_limit="12">\n0123456789\U0001f600\n</working_memory>'
    )


# ---- the tree ----


def walked_keep_tail(roles: list[str], frozen: int, keep: int) -> int:
    seen = 0
    for place in range(frozen - 1, -1, -1):
        seen += roles[place] == "user"
        if roles[place] == "user" and seen > keep:
            return place
    return 0


def walked_leaf(messages: list[tuple[str, int]], tail: int, start: int, most: int) -> tuple[int, int, int, int] | None:
    total, end = 0, start
    for place in range(start, tail):
        total, end = total + messages[place][1], place + 1
        if total >= most:
            break
    if total < most or end <= start:
        return None
    end = next((place for place in range(end, tail) if messages[place][0] == "user"), tail)
    turns = [sum(role == "user" for role, _ in messages[:at]) for at in (start, end)]
    return (start, end, turns[0] + 1, turns[1]) if turns[1] > turns[0] else None


def test_a_plan_is_what_walking_over_the_messages_gives() -> None:
    chance = random.Random(5)
    for _ in range(300):
        messages = [
            (chance.choice(["user", "assistant", "tool"]), chance.randrange(40)) for _ in range(chance.randrange(60))
        ]
        frozen, keep, cursor = (chance.randrange(len(messages) + 1) for _ in range(3))
        timeline = Timeline(messages)
        tail = walked_keep_tail([role for role, _ in messages], frozen, keep % 5)
        assert keep_tail(timeline, frozen, keep % 5) == tail
        made = plan(timeline, frozen, [], cursor, TreeConfig(60, 6, 1, keep % 5)).leaf
        wanted = walked_leaf(messages, tail, cursor, 60) if tail > cursor else None
        assert (None if made is None else (made.start, made.end, made.start_turn, made.end_turn)) == wanted


def node(name: str, *children: str) -> Node:
    depth, start, end = (int(part) for part in name.lstrip("d").split("-"))
    return Node(name, depth, start, end, end * 2, "## TASK", 2, children=children)


def test_condensing_waits_for_enough_nodes_and_takes_the_first() -> None:
    leaves = [node("d0-7-9"), node("d0-1-3"), node("d0-4-6")]
    config = TreeConfig(40_000, 3, 1)

    assert plan(Timeline(), 0, leaves[:2], 0, config).condense is None
    made = plan(Timeline(), 0, [*leaves, node("d0-10-10")], 0, config).condense
    assert made is not None
    assert [child.id for child in made.children] == ["d0-1-3", "d0-4-6", "d0-7-9"]
    assert plan(Timeline(), 0, leaves, 0, TreeConfig(40_000, 3, 0)).condense is None


def test_active_nodes_are_those_that_none_was_condensed_from() -> None:
    nodes = [node("d0-4-6"), node("d0-1-3"), node("d1-1-3", "d0-1-3"), node("d0-7-7")]

    assert [one.id for one in active(nodes)] == ["d1-1-3", "d0-4-6", "d0-7-7"]
    assert cover_end(Timeline(), 0, [node("d0-1-1", "d0-1-1")]) == 0


def test_a_refused_note_leaves_a_hole_for_good() -> None:
    refused = iter([True])
    tree = Tree(TreeConfig(100, 6, 1, 0), lambda: START)
    messages = [(role, cp_weighted(text)) for role, text in talk(8, 60)]

    def summarise(job: object, name: str) -> str:
        return "nothing of use" if next(refused, False) else "## OPEN STATE\n- x"

    steps = list(simulate(messages, tree, 0, summarise))

    assert steps[0].done[0].node is None
    assert steps[0].cursor == 2
    assert tree.nodes[0].id == "d0-2-2"
    again = Tree.of_nodes(tree.nodes, tree.config, tree.clock)
    assert again.cursor == tree.cursor


def test_a_transcript_that_opens_with_too_much_of_others_is_never_folded() -> None:
    tree = Tree(TreeConfig(100, 6, 1, 0), lambda: START)
    messages = [("tool", 500), *((role, cp_weighted(text)) for role, text in talk(8, 60))]

    def summarise(job: object, name: str) -> str:
        return "## TASK"

    assert plan(Timeline(messages), len(messages), [], 0, tree.config).leaf is None
    assert list(simulate(messages, tree, 0, summarise)) == []


def test_placeholders_are_the_same_bytes_and_deeper_ones_have_their_own_tag() -> None:
    deep = placeholder(node("d1-1-6"))

    assert deep == placeholder(node("d1-1-6"))
    assert '\n<flowctx-history-summary-condensed depth="1" span="turns 1-6">\n## TASK\n</' in deep
    assert placeholder(node("d0-1-1"), name="flowctx").startswith("[flowctx: summary layer depth=0 ")


def test_stored_nodes_are_read_whatever_they_lack() -> None:
    assert Node.of({"id": "x", "depth": "2", "childIds": "no", "content": None}).stored()["depth"] == 2
    assert Node.of({}).tokens == 0


def test_configuration_takes_numbers_as_javascript_does() -> None:
    made = resolve_config(
        {"leafChunkTokens": "3000", "condenseFanout": None, "maxSummaryDepth": 1.5, "freshTailWindow": "x",
         "projection": "no", "retainRatio": 0.2, "maxTokens": "5"}
    )  # fmt: skip

    assert (made["leafChunkTokens"], made["condenseFanout"], made["maxSummaryDepth"]) == (3000, 2, 1.5)
    assert (made["freshTailWindow"], made["projection"], made["retainRatio"]) == (64, True, 0.2)
    assert "maxTokens" not in made


def test_a_text_is_cut_to_tokens_between_code_points() -> None:
    assert (truncate("abcde" + CJK * 2, 3), truncate("abc", 0)) == ("abcde" + CJK, "")
