"""The page that says what would go if it compacted now: read from the end of a session, bounded and masked."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message, Role
from contextviz.events.session import Configuration, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.usage import TokenUsage
from contextviz.services.figures import derive
from contextviz.store.queries import sessions
from contextviz.store.texts import StoreTextPool
from contextviz.store.writes import save_transcript
from contextviz.web.pages.live.next_window import next_window
from contextviz.web.pages.session.inspector import side
from tests.accounts.cast import Cast, the_cast
from tests.store.building import NOW, at, transcript

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SECRET = "sk-ant-api03-" + "Ab1" * 20


class Made:
    """A pi session of some turns, without compactions; `say` adds a message after its last call."""

    def __init__(self, turns: int = 3, format: str = "pi", keep: int = 8) -> None:
        self.pool = StoreTextPool(count=lambda text: len(text.split()), estimator="words")
        self.transcript: Transcript = transcript(self.pool, turns=turns, key=f"{format}-{turns}")
        self.transcript.session.format = format
        self.transcript.compactions = []
        if keep:
            self.transcript.session.configuration = Configuration(
                "pi", ("settings.json",), settings={"compaction.keepRecentTokens": keep}
            )

    def say(self, role: Role, text: str) -> Message:
        """One more message."""
        found = self.transcript.messages
        made = Message(len(found), f"n{len(found)}", None, role, role, (Block("text", self.pool.put(text)),), at(9),
                       len(found) + 1, "a.jsonl", entry_ids=(f"n{len(found)}",))  # fmt: skip
        found.append(made)
        return made

    def save(self) -> int:
        """Keep it; its id."""
        self.pool.flush()
        values = derive(self.transcript, self.pool)
        with transaction.atomic():
            return save_transcript(self.transcript, values, now=NOW).session_id


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())).replace("\u00a0", " ")


def page_of(client: Client, session_id: int, query: str = "", **more: Any) -> Any:
    answer = client.get(reverse("if_now", args=[session_id]) + query, **more)
    assert answer.status_code == 200
    return answer


def window_of(session_id: int) -> list[ContextItem]:
    return next_window(sessions.get_session(session_id)).items


def test_the_window_is_the_last_one_with_its_answer_and_what_came_after() -> None:
    made = Made()
    made.say("user", "and now this")
    made.transcript.messages.append(replace(made.say("user", "aside"), index=8, agent="helper", id="h"))
    found = window_of(made.save())
    assert [(item.role, item.message_index) for item in found[-3:]] == [
        ("assistant", 5), ("user", 6), ("user", 7),
    ]  # fmt: skip
    assert [item.kind for item in found[-4:]] == ["text", "tool_call", "text", "text"]
    assert len([item for item in found if item.message_index == 5]) == 2


def test_a_compaction_newer_than_the_last_call_leaves_its_summary_and_what_it_kept() -> None:
    made = Made()
    after = made.say("user", "go on")
    made.transcript.compactions = [
        Compaction("c9", 1, after.line and after.line - 1, "a.jsonl", at(8), "summary", summary=made.pool.put("so far"),
                   kept=["a2"], before_call=2)
    ]  # fmt: skip
    session_id = made.save()
    found = next_window(sessions.get_session(session_id))
    assert [(item.role, item.kind, item.message_index) for item in found.items] == [
        ("system", "system", None), ("user", "summary", None), ("assistant", "text", 5), ("assistant", "tool_call", 5),
        ("user", "text", 6),
    ]  # fmt: skip
    assert found.notes == ("Compaction 1 came after the last call; its window is taken.",)


def test_what_would_go_is_listed_with_tokens_that_add_up(client: Client) -> None:
    session_id = Made().save()
    page = text_of(page_of(client, session_id))
    assert "Exact: measured, no cut missed." in page
    assert "keepRecentTokens 8 tokens by the agent's configuration" in page.replace("&#x27;", "'")
    listed = page_of(client, session_id).content.decode()
    tokens = [int(number) for number in re.findall(r'<span class="tok">(\d+)</span>', listed)]
    (gone,) = re.findall(r"Would go (\d+) tok", page)
    (stays,) = re.findall(r"Would stay (\d+) tok", page)
    assert len(tokens) == listed.count('class="item gone') > 0
    assert sum(tokens) == int(gone)
    assert int(gone) + int(stays) == sum(item.text.estimated_tokens for item in window_of(session_id))


def test_an_item_has_the_tokens_that_the_session_page_has_for_it() -> None:
    session_id = Made().save()
    window = next_window(sessions.get_session(session_id))
    shown = side(session_id, window.call or 0)
    assert shown.scale is not None
    count = len(shown.scale.by_place)
    assert window.tokens[:count] == shown.scale.by_place and len(window.tokens) == len(window.items) > count
    assert window.unlogged == shown.scale.baseline


def test_go_stay_and_the_rest_add_up_to_the_window_that_other_pages_show(client: Client) -> None:
    made = Made()
    made.say("user", "and now this")
    session_id = made.save()
    window = next_window(sessions.get_session(session_id))
    after = sum(item.text.estimated_tokens for item in window.items if item.reason == "said since the last call")
    assert after > 0 and window.since == after and window.total_basis == "estimated"
    assert window.prompt == sessions.get_session(session_id).last_prompt_tokens
    page = text_of(page_of(client, session_id)).replace(",", "")
    (gone,) = re.findall(r"Would go (\d+) tok", page)
    (stays,) = re.findall(r"Would stay (\d+) tok", page)
    (unlogged,) = re.findall(r"In no record would stay (\d+) tok", page)
    (rest,) = re.findall(r"Residual signed ([+−±]?\d+) tok", page)
    (total,) = re.findall(r"Together the window (\d+) tok", page)
    parts = int(gone) + int(stays) + int(unlogged) + int(rest.replace("−", "-"))
    assert parts == int(total) == (window.prompt or 0) + after


def test_the_window_s_size_is_unknown_where_no_call_reports_it(client: Client) -> None:
    made = Made()
    made.transcript.calls[-1].usage = TokenUsage()
    page = text_of(page_of(client, made.save()))
    assert "Together, the window — unknown tok" in page or "Together, the window — tok" in page
    assert "no call reports it" in page


def test_identifiers_that_would_be_lost_are_named_and_masked(client: Client) -> None:
    made = Made(keep=8)
    made.say("user", f"read src/lost_one.py with {SECRET}")
    made.say("assistant", "and src/kept_one.py, long enough to be kept " * 3)
    session_id = made.save()
    page = page_of(client, session_id)
    assert "src/lost_one.py" in text_of(page)
    assert SECRET not in page.content.decode()
    risk = page.content.decode().split('id="at-risk"')[1].split("</section>")[0]
    assert "src/lost_one.py" in risk and "src/kept_one.py" not in risk


def test_much_text_is_read_for_identifiers_when_asked(client: Client) -> None:
    made = Made(keep=8)
    made.say("user", "src/lost_one.py " + "x" * 60_000)
    made.say("assistant", "long enough to be kept, and nothing of it named " * 3)
    session_id = made.save()
    first = page_of(client, session_id).content.decode()
    assert f'hx-get="/sessions/{session_id}/if-now/?identifiers=1"' in first
    assert '<td class="wrapped" title="src/lost_one.py">' not in first
    whole = page_of(client, session_id, "?identifiers=1").content.decode()
    part = page_of(client, session_id, "?identifiers=1", headers={"HX-Request": "true"}).content.decode()
    assert '<td class="wrapped" title="src/lost_one.py">' in whole
    assert (
        "<html" in whole and "<html" not in part and part.startswith('<section aria-labelledby="risk-h" id="at-risk">')
    )
    fragment = page_of(client, session_id, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in fragment and "Would go" in fragment


def test_a_long_list_is_shown_in_pages(client: Client) -> None:
    session_id = Made(turns=60).save()
    first = page_of(client, session_id).content.decode()
    total = int(re.findall(r"1 to 100 of (\d+) items", text_of(page_of(client, session_id)))[0])
    assert first.count('class="item gone') == 100
    second = page_of(client, session_id, "?from=101")
    assert second.content.decode().count('class="item gone') == total - 100
    assert f"101 to {total} of {total} items" in text_of(second)
    assert "1 to 100 of" in text_of(page_of(client, session_id, "?from=99999"))


def test_without_a_rule_or_a_window_a_sentence_says_so(client: Client) -> None:
    assert "No rule is known for this format." in text_of(page_of(client, Made(format="atif").save()))
    none = Made(turns=2)
    none.transcript.calls = []
    none.transcript.log.snapshots = []
    assert "No model call of the main chain is recorded here" in text_of(page_of(client, none.save()))
    blind = Made(turns=4)
    blind.transcript.log.snapshots = []
    assert "does not record what the last call was given" in text_of(page_of(client, blind.save()))
    short = text_of(page_of(client, Made(turns=5, keep=0).save()))
    assert "pi" in short and "default, since no configuration came with the session" in short
    assert "by the rule" in short and "own count" in short


def test_characters_are_counted_as_javascript_does(client: Client) -> None:
    made = Made(keep=8)
    # Eight characters outside the basic plane are sixteen units: four tokens, not two.
    made.say("user", "😀" * 8)
    made.say("user", "😀" * 8)
    listed = page_of(client, made.save()).content.decode()
    assert 'id="i-' in listed and "Would go" in text_of(page_of(client, sessions.recent_sessions(1)[0].id))
    kept = re.findall(r"Would stay</dt>.*?in items</dt><dd>(\d+)", listed, re.DOTALL)
    assert kept == ["3"]  # both of them and the system prompt


def test_it_asks_as_often_however_long_a_session_is(client: Client) -> None:
    counts = []
    for turns in (4, 60):
        session_id = Made(turns=turns).save()
        page_of(client, session_id)
        with CaptureQueriesContext(connection) as captured:
            page_of(client, session_id)
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 30


def test_the_inspector_leads_there_at_the_last_call_alone(client: Client) -> None:
    session_id = Made(turns=4).save()
    link = f'href="/sessions/{session_id}/if-now/"'
    base = f"/sessions/{session_id}/inspector/"
    assert link in client.get(f"{base}?b=4").content.decode()
    assert link in client.get(f"/sessions/{session_id}/").content.decode()
    assert link not in client.get(f"{base}?b=2").content.decode()


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


def test_a_private_session_is_its_owner_s(cast: Cast) -> None:
    session_id = Made().save()
    sessions.SessionRecord.objects.filter(pk=session_id).update(is_private=True, owner=cast.alice)
    people = cast.clients()
    url = reverse("if_now", args=[session_id])
    assert {who: people[who].get(url).status_code for who in people} == {
        "alice": 200, "bob": 404, "vera": 404, "adam": 200,
    }  # fmt: skip
