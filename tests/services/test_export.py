"""Copies of sessions: complete, masked, and refused while something that looks like a secret is undecided."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contextviz.services import export
from contextviz.services.demo.loading import open_demo
from contextviz.services.digest import digest
from contextviz.services.export import Decision, Decisions, ExportRefused
from contextviz.services.export.records import SECTIONS
from contextviz.store.models import SessionRecord
from contextviz.store.queries import sessions
from tests.services.building import NOW, upload
from tests.services.export_building import ENCODED, HALVES, KEY, KEY_BODY, PASSWORD, RANDOM, session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
ALL = Decisions(mask_all=True)


def copy(key: int, form: export.Format = "json", decisions: Decisions = ALL) -> str:
    with export.copied(export.look_through(key), form, decisions, now=NOW) as stream:
        return stream.read().decode()


def json_copy(key: int, decisions: Decisions = ALL) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(copy(key, "json", decisions))
    return found


def texts_of(document: dict[str, Any]) -> list[str]:
    return [block["content"]["text"] for message in document["messages"] for block in message["blocks"]]


CERTAIN = {
    "an object's key": (json.dumps({KEY: 1}), KEY),
    "an object's value": (json.dumps({"headers": {"Authorization": f"Bearer {RANDOM}"}}), RANDOM),
    "a URL's user and password": (f"postgres://shop:{PASSWORD}@db.local/shop", PASSWORD),
    "a URL's user alone": (f"https://{RANDOM}@git.local/x.git", RANDOM),
    "a query string": (f"GET https://api.local/v1?page=2&api_key={PASSWORD}&x=1", PASSWORD),
    "a list of arguments": (json.dumps(["mysql", "--password", PASSWORD]), PASSWORD),
    "an option of curl": (f"curl -u bob:{PASSWORD} http://x.local", PASSWORD),
    "a name beside a value": (json.dumps({"name": "DB_PASSWORD", "value": "plainwords"}), "plainwords"),
    "a cookie": (f"Cookie: sid={RANDOM}; theme=dark", RANDOM),
}
SUSPECTED = {
    "JSON escapes": ('{"a": "sk-\\u0070roj-' + "Ab3" * 12 + '"}', "Ab3" * 12),
    "JSON in JSON": (json.dumps({"body": json.dumps({"api\u005fkey": PASSWORD}).replace("_", "\\u005f")}), PASSWORD),
    "percent escapes": (f"https://x.local/cb?next=password%3D{PASSWORD}", PASSWORD),
    "HTML entities": (f"password&#61;{PASSWORD}", PASSWORD),
    "two lines of YAML": (f"password:\n  {PASSWORD}\n", PASSWORD),
    "a string over two lines": (f'key = "{KEY[:12]}" +\n      "{KEY[12:]}"', KEY[12:]),
    "a line that a listing numbers": (f"10\t{KEY[:14]}\n11\t{KEY[14:]}", KEY[14:]),
    "invisible characters": (f"{KEY[:14]}\u200b{KEY[14:]}", KEY[14:]),
    "base64": (f"data: {ENCODED}", ENCODED),
    "a long random word beside a key's name": (f"the deploy key is {RANDOM}", RANDOM),
}


@pytest.mark.parametrize("place", CERTAIN)
def test_a_secret_is_masked_wherever_it_stands(place: str) -> None:
    text, secret = CERTAIN[place]
    key = session(f"before {text} after")

    for form in export.FORMATS:
        written = copy(key, form, Decisions())
        assert secret not in written
        assert "masked" in written


@pytest.mark.parametrize("place", SUSPECTED)
def test_what_cannot_be_masked_with_certainty_refuses_the_export_until_it_is_decided(place: str) -> None:
    text, secret = SUSPECTED[place]
    key = session("Please look.", f"before {text} after")

    with pytest.raises(ExportRefused, match="Nothing was exported") as refused:
        copy(key, "json", Decisions())
    assert refused.value.places[0].where == "message 3, block 1 (text)"
    assert secret not in refused.value.places[0].context

    decided = {one.id: Decision("mask") for one in refused.value.places}
    assert secret not in copy(key, "json", Decisions(decided))
    assert secret not in copy(key, "html")


@pytest.mark.parametrize(
    "questions",
    [
        ([f"it begins {HALVES[0]}", f"{HALVES[1]} and ends"],),
        ([f"it begins {HALVES[0]}"], [f"{HALVES[1]} and ends"]),
        (["the password:", PASSWORD],),
        ([HALVES[0][:6], HALVES[0][6:], HALVES[1]],),
    ],
)
def test_a_secret_that_is_split_over_neighbours_is_found_and_masked_in_each(questions: Any) -> None:
    key = session(*questions, has_answers=False)
    report = export.look_through(key)

    (place,) = report.open(Decisions())
    assert place.reason == "split over blocks"
    document = json_copy(key)
    joined = "".join(texts_of(document))
    assert not any(half in joined for half in (*HALVES, PASSWORD))


def test_a_private_key_that_goes_on_in_the_next_block_is_masked_to_its_end() -> None:
    begin, end = "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----"
    key = session([begin + KEY_BODY[0] + "\n", f"{KEY_BODY[1]}\n{KEY_BODY[0]}\n", f"{KEY_BODY[1]}\n{end}\nthanks"])

    written = copy(key)

    assert not any(part in written for part in KEY_BODY)
    assert "thanks" in written


def test_a_secret_in_a_title_and_in_a_name_is_masked_too() -> None:
    key = session("hello")
    SessionRecord.objects.filter(pk=key).update(title=f"use {KEY}", cwd=f"/home/x/{KEY}")

    assert KEY not in copy(key)
    assert KEY not in copy(key, "md")


def test_half_a_secret_at_the_end_of_a_cut_title_is_left_out() -> None:
    key = session("hello")
    SessionRecord.objects.filter(pk=key).update(title=f"the key is {KEY[:12]}…")

    document = json_copy(key)

    assert document["session"]["title"] == "the key is …"


def test_a_value_is_kept_by_decision_with_its_reason() -> None:
    key = session("Please look.", f"the example is {KEY}")
    (place,) = export.look_through(key).places.values()

    document = json_copy(key, Decisions({place.id: Decision("keep", "the documentation's own example")}))

    assert KEY in texts_of(document)[2]
    assert document["masking"]["masked"] == 0
    assert document["masking"]["kept"][0]["reason"] == "the documentation's own example"


def test_a_decision_about_a_place_that_is_not_there_is_refused() -> None:
    with pytest.raises(ExportRefused, match="no place 0123@4"):
        copy(session("hello"), "json", Decisions({"0123@4": Decision("keep")}))


def test_a_session_that_grew_after_it_was_looked_through_is_not_exported() -> None:
    key = session("hello")
    report = export.look_through(key)
    SessionRecord.objects.filter(pk=key).update(revision=report.revision + 1)

    with pytest.raises(ExportRefused, match="has grown"), export.copied(report, "json", ALL, now=NOW):
        pass


def test_something_new_while_writing_stops_the_copy() -> None:
    key = session("hello", f"password:\n  {PASSWORD}\n")
    report = export.look_through(key)
    report.places.clear()
    report.clean.clear()

    with pytest.raises(ExportRefused, match="was not there"), export.copied(report, "json", Decisions(), now=NOW):
        pass


def test_the_hash_of_a_masked_text_is_left_out_since_it_would_prove_a_guess() -> None:
    document = json_copy(session(f"use {KEY}", "nothing here"))
    first, _, second, _ = (message["blocks"][0]["content"] for message in document["messages"])

    assert first["sha256"] is None and first["masked"] == 1
    assert len(second["sha256"]) == 64
    assert document["sources"][0]["sha256"] is None


def test_without_masking_everything_is_there_and_the_copy_says_so() -> None:
    key = session(f"use {KEY}", f"password:\n  {PASSWORD}\n")

    with export.copied_unmasked(key, "json", now=NOW) as stream:
        document = json.loads(stream.read())

    assert KEY in texts_of(document)[0]
    assert document["masking"]["mode"] == "unmasked"


def test_a_json_copy_is_complete_and_follows_its_schema(repository: Path) -> None:
    document = json_copy(session("hello", "again"))
    schema = json.loads((repository / "docs" / "export.schema.json").read_text(encoding="utf-8"))

    jsonschema.Draft202012Validator(schema).validate(document)
    assert list(document)[-len(SECTIONS) :] == list(SECTIONS)
    assert [message["number"] for message in document["messages"]] == [1, 2, 3, 4]
    assert document["calls"][0]["usage"] == {
        "basis": "reported", "prompt_tokens": 10, "input_tokens": 10, "cache_read_tokens": None,
        "cache_write_tokens": None, "output_tokens": 7, "reasoning_tokens": None, "cache_write_5m_tokens": None,
        "cache_write_1h_tokens": None,
    }  # fmt: skip


def test_every_token_number_of_a_copy_has_a_basis() -> None:
    document = json_copy(session("hello"))

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "count" in value or "prompt_tokens" in value or "usd" in value:
                assert value["basis"] in {"reported", "derived", "estimated", "unknown"}
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(document)


def test_windows_refer_to_messages_and_repeat_none_of_their_words() -> None:
    document = json_copy(session("a question of many words"))

    (item,) = [one for one in document["items"] if one["message"] == 1]
    assert item["content"] is None and item["block"] == 1
    assert item["number"] in document["snapshots"][0]["then"]


class Elements(HTMLParser):
    """Every element and attribute, and the words."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def only_harmless(html: str) -> Elements:
    page = Elements()
    page.feed(html)
    assert page.names <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "dl", "dt", "dd", "p", "section",
        "pre", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name"}
    return page


HOSTILE = '</pre></title><script>window.x=1</script><img src=x onerror="window.x=2"> {{7*7}} ${7*7}'


def test_an_html_copy_holds_no_element_of_a_transcript() -> None:
    page = only_harmless(copy(session(HOSTILE, title=HOSTILE), "html"))

    assert HOSTILE in page.words


def test_markup_in_every_place_of_the_shared_case_stays_words(shared: Path) -> None:
    source = next((shared / "cases" / "reading" / "075-html-in-transcripts" / "input").glob("*.jsonl"))
    upload((source.name, source.read_bytes()))
    key = sessions.recent_sessions(1)[0].id

    page = only_harmless(copy(key, "html"))
    expected = json.loads((source.parent.parent / "expect.json").read_text(encoding="utf-8"))
    document = json_copy(key)

    assert "{{7*7}} {% debug %} ${7*7}" in page.words
    assert "<script>window.__xss1=1</script>" in page.words
    assert expected and len(document["messages"]) == 4


def test_markdown_cannot_be_left_by_a_transcripts_words() -> None:
    text = "````\n# a heading\n```js\n[x](javascript:alert(1))\n````\nend"
    written = copy(session(text, title="# big <b>bold</b> [link](javascript:x) | cell"), "md")

    assert f"`````text\n{text}\n`````\n" in written
    assert written.startswith("# \\# big \\<b\\>bold")
    assert "\n# a heading" in written  # inside the longer fence
    assert "](javascript:x)" not in written


@pytest.mark.slow  # imports the whole demo
def test_every_demo_session_can_be_copied_in_every_form_and_follows_the_schema(repository: Path) -> None:
    digest(open_demo(now=NOW))
    schema = json.loads((repository / "docs" / "export.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    filled: set[str] = set()

    for row in sessions.recent_sessions(20):
        report = export.look_through(row.id)
        written = {}
        for form in export.FORMATS:
            with export.copied(report, form, ALL, now=NOW) as stream:
                written[form] = stream.read().decode()
        document = json.loads(written["json"])
        validator.validate(document)
        filled |= {name for name in SECTIONS if document[name]}
        only_harmless(written["html"])
        assert written["md"].startswith("# ")

    assert filled == set(SECTIONS)
