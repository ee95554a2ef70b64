"""The Lab's page: forms from the engines' own settings, runs compared on one call, refusals as sentences, bounds."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from contextviz.charts.figure import MAX_POINTS
from contextviz.services import replay
from contextviz.store.models import JobRecord, RunRecord
from contextviz.store.queries import runs, sessions
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import SessionRow
from contextviz.web.pages.lab import columns
from contextviz.web.pages.lab.graphs import drawn
from contextviz.web.pages.lab.place import parse
from tests.accounts.cast import session_of, the_cast, upload_as
from tests.services.building import NOW, claude_lines, upload
from tests.web.folded import HOSTILE, HTMX, SECRET, chat, map_session, queries_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def brought(text: str) -> SessionRow:
    """A session of its own, whichever is the newest."""
    return sessions.get_session(int(upload(("chat.jsonl", text)).result["sessions"][0]))


def prompted() -> SessionRow:
    """A session whose two recorded requests each hold a system prompt and a tool."""
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    asked = [{"role": "system", "content": "be brief and look first"}, {"role": "user", "content": "what is in a.txt"}]
    said = {"role": "assistant", "content": "forty-two"}
    lines = []
    for number, messages in enumerate((asked, [*asked, said, {"role": "user", "content": "and in b.txt"}])):
        reply = {
            "id": f"r{number}", "object": "chat.completion", "created": 1_772_359_200 + number, "model": "gpt-x",
            "choices": [{"index": 0, "message": said}], "usage": {"prompt_tokens": 60, "completion_tokens": 3},
        }  # fmt: skip
        lines.append({"request": {"model": "gpt-x", "messages": messages, "tools": tools}, "response": reply})
    return brought("".join(json.dumps(line) + "\n" for line in lines))


def budget(row: SessionRow, room: int) -> int:
    """A context window that leaves `room` tokens for messages."""
    return replay.preview(row.id, "keep-all").measured.system_tokens + room


def replayed(row: SessionRow, *engines: str, room: int = 1_500, **settings: Any) -> list[RunRow]:
    """The session replayed by engines, their jobs done at once; `room` tokens are left for messages."""
    made = []
    window = budget(row, room)
    for number, engine in enumerate(engines or ("keep-tail", "keep-all")):
        at = NOW + timedelta(seconds=number)
        started = replay.start_run(row.id, engine, settings, measure=replay.Measure(window=window), now=at)
        assert started.job_id is not None
        assert replay.execute_run(started.job_id)
        made.append(runs.get_run(started.run_id))
    return made


def key(run: RunRow) -> str:
    return run.id.hex[-8:]


def shown(client: Client, row: SessionRow, query: str = "", **headers: str) -> str:
    answer = client.get(f"/sessions/{row.id}/lab/{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode().replace("\u00a0", " ")


def posted(client: Client, row: SessionRow, **form: str) -> Any:
    return client.post(f"/sessions/{row.id}/lab/run/", form)


# ---- what there is before any run -----------------------------------------------------------------------------------
def test_before_a_replay_the_page_says_what_it_does_and_offers_the_defaults(client: Client) -> None:
    row = brought(chat(1))

    page = shown(client, row)

    assert "Run the defaults" in page
    assert "Keep the tail" in page
    assert "No model is called" in page
    assert page.count("<h1") == 1
    assert "<script>" not in page
    assert 'id="lab-at"' in page  # what was recorded stands there anyway
    assert f'href="/sessions/{row.id}/lab/"' in client.get(f"/sessions/{row.id}/").content.decode()


def test_a_session_without_messages_says_why_nothing_can_be_replayed(client: Client, tmp_path: Any) -> None:
    row = map_session(tmp_path)

    page = shown(client, row)

    assert "Nothing to replay" in page
    assert "Run the defaults" not in page
    assert "/lab/" not in client.get(f"/sessions/{row.id}/").content.decode()


def test_the_defaults_are_queued_once_however_often_they_are_asked_for(client: Client) -> None:
    row = brought(chat(1))

    for _ in range(2):
        answer = client.post(f"/sessions/{row.id}/lab/defaults/")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/sessions/{row.id}/lab/")

    engines = set(RunRecord.objects.values_list("engine", flat=True))
    assert {"keep-tail", "keep-all"} < engines
    assert RunRecord.objects.count() == len(engines) == JobRecord.objects.filter(kind="replay").count() >= 4
    page = shown(client, row)
    assert page.count("waits for the worker") == len(engines)
    assert 'hx-trigger="every 1s"' in page


def test_jobs_are_watched_until_none_is_left(client: Client) -> None:
    row = brought(chat(1))
    client.post(f"/sessions/{row.id}/lab/defaults/")
    address = f"/sessions/{row.id}/lab/waiting/?done=0&fresh=1"
    assert "every 1s" in client.get(address).content.decode()

    for job_id in JobRecord.objects.filter(kind="replay").values_list("pk", flat=True):
        assert replay.execute_run(job_id)

    answer = client.get(address)
    assert "every 1s" not in answer.content.decode()
    assert answer.headers["HX-Refresh"] == "true"
    answer = client.get(f"/sessions/{row.id}/lab/waiting/?done=1")
    assert "more runs are done" in answer.content.decode()
    assert "HX-Refresh" not in answer.headers


# ---- the form --------------------------------------------------------------------------------------------------------
def test_the_form_of_every_engine_has_its_settings_with_ranges_and_help(client: Client) -> None:
    row = brought(chat(1))
    for spec in replay.catalogue():
        form = client.get(f"/sessions/{row.id}/lab/form/?engine={spec.key}").content.decode()
        for setting in spec.settings:
            assert f'name="s-{setting.key}"' in form, (spec.key, setting.key)
        assert ('name="scorer"' in form) == spec.uses_scorer, spec.key
        names = re.findall(r'aria-describedby="([^"]+)"', form)
        assert all(f'id="{name}"' in form for name in names)
    assert 'min="0"' in client.get(f"/sessions/{row.id}/lab/form/?engine=keep-tail").content.decode()


def test_a_scorer_is_chosen_in_the_form_of_an_engine_that_uses_one(client: Client) -> None:
    row = brought(chat(1))
    answer = posted(client, row, engine="openbrain", scorer="bm25")

    assert answer.status_code == 303
    assert [run.scorer for run in runs.runs_of(row.id)] == ["bm25"]


def test_without_a_script_an_engine_is_chosen_by_the_address(client: Client) -> None:
    page = shown(client, brought(chat(1)), "?engine=keep-tail")

    assert '<details class="lab-new" id="new-run" open>' in page
    assert 'name="s-keepTokens"' in page
    assert "There is no engine" in shown(client, brought(chat(1)), "?engine=nonsense")


def test_a_replay_is_started_with_what_was_typed(client: Client) -> None:
    row = brought(chat(1))

    answer = posted(client, row, engine="keep-tail", window="2,000", **{"s-keepTokens": "900"})

    assert answer.status_code == 303
    run = runs.runs_of(row.id)[0]
    assert run.settings["keepTokens"] == 900
    assert run.asked["window"] == 2_000
    assert run.state == "queued"
    again = posted(client, row, engine="keep-tail", window="2000", **{"s-keepTokens": "900"})
    assert "was asked for before" in client.get(again.headers["Location"]).content.decode()
    assert len(runs.runs_of(row.id)) == 1


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"engine": "nonsense"}, "Choose an engine"),
        ({}, "Choose an engine"),
        ({"engine": "keep-tail", "window": "many"}, "is a number of tokens"),
        ({"engine": "keep-tail", "window": "-5"}, "is a number of tokens"),
        ({"engine": "keep-tail", "window": "9" * 40}, "is a number of tokens"),
        ({"engine": "keep-tail", "reserve": "1.5"}, "is a number of tokens"),
        ({"engine": "keep-tail", "s-keepTokens": "x"}, "keepTokens is a number"),
        ({"engine": "keep-tail", "s-keepTokens": "nan"}, "keepTokens is a number"),
        ({"engine": "keep-tail", "window": "1_0"}, "is a number of tokens"),
        ({"engine": "keep-tail", "window": "９"}, "is a number of tokens"),
        ({"engine": "keep-tail", "window": "1,0"}, "is a number of tokens"),
        ({"engine": "keep-tail", "s-keepTokens": "1_0"}, "keepTokens is a number"),
        ({"engine": "keep-tail", "s-keepTokens": "９"}, "keepTokens is a number"),
        ({"engine": "keep-tail", "s-keepTokens": "1.5"}, "whole number"),
        ({"engine": "keep-tail", "s-keepTokens": "-1"}, "may be 0 to 10,000,000"),
        ({"engine": "keep-tail", "estimator": "guess"}, "There is no estimator"),
        ({"engine": "flowctx", "summariser": "an oracle of my own"}, "summariser"),
        ({"engine": "openbrain", "scorer": "a feeling"}, "There is no scorer"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_what_was_typed(client: Client, typed: dict[str, str], says: str) -> None:
    row = brought(chat(1))

    answer = posted(client, row, **typed)

    page = answer.content.decode()
    assert answer.status_code == 422
    assert says in page
    assert 'role="alert"' in page
    assert not RunRecord.objects.exists()
    wrong = typed.get("s-keepTokens")
    if wrong:
        assert f'value="{wrong}"' in page
        assert 'aria-invalid="true"' in page


# ---- the comparison --------------------------------------------------------------------------------------------------
def test_a_summary_that_takes_in_the_one_before_it_does_not_hide_it() -> None:
    made = [
        SimpleNamespace(
            id=f"n{last}", depth=0, covers=tuple(map(str, range(last))), made_from=(), tokens=9, in_context=last == 9
        )
        for last in (3, 6, 9)
    ]  # fmt: skip
    apart = SimpleNamespace(id="up", depth=1, covers=(), made_from=("n9",), tokens=9, in_context=True)

    found = drawn(SimpleNamespace(message_count=9), [*made, apart], lambda name: "").nodes  # type: ignore[arg-type, list-item]

    assert [(node.start, node.end) for node in found] == [(1, 4), (4, 7), (7, 10), (1, 10)]


def test_runs_stand_side_by_side_with_the_recorded_one(client: Client) -> None:
    row = brought(chat(2))
    tail, whole = replayed(row)

    page = shown(client, row, f"?runs=recorded,{key(tail)},{key(whole)}&call=6")

    assert "At call 6" in page
    for words in ("Recorded", "Keep the tail", "Keep all"):
        assert words in page
    assert 'data-kind="difference"' in page
    assert "missing" in page
    assert "only here" in page
    assert "best: " in page  # not by colour alone
    assert "Mean window" in page


def test_the_page_without_choices_compares_what_was_recorded_and_the_newest_replays(client: Client) -> None:
    row = brought(chat(1))
    made = replayed(row, "keep-nothing", "keep-all", "keep-tail", "flowctx")

    page = shown(client, row)

    assert f"runs=recorded,{','.join(key(run) for run in made[1:])}" in page
    assert re.search(r"<small>Keep nothing[^<]* is not shown</small>", page)  # which run had no room is told
    assert "not shown" not in shown(client, row, f"?runs={','.join(key(run) for run in made)}")


def test_boxes_without_a_script_choose_the_runs(client: Client) -> None:
    row = brought(chat(1))
    tail, whole = replayed(row)

    page = shown(client, row, f"?run={key(whole)}&run={key(tail)}&call=2")

    assert f"runs={key(whole)},{key(tail)}" in page


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("?runs=recorded,00000000", "There is no run 00000000"),
        ("?call=nonsense", "is no number of a call"),
        ("?call=99999", "No run has call 99,999"),
        ("?view=nonsense", "There is no view"),
    ],
)
def test_an_address_that_names_what_is_not_there_says_so(client: Client, query: str, says: str) -> None:
    row = brought(chat(1))
    replayed(row)

    assert says in shown(client, row, query)


def test_every_view_of_every_call_is_an_address_and_a_fragment(client: Client) -> None:
    row = brought(chat(2))
    replayed(row, "keep-tail", "flowctx", leafChunkTokens=200)

    for view in ("lists", "composition", "graphs", "what-if"):
        for call in range(1, row.call_count + 1):
            part = shown(client, row, f"?call={call}&view={view}", **HTMX)
            assert part.lstrip().startswith('<section class="pane lab-at" id="lab-at"')
            assert f'data-call="{call}"' in part
            assert 'aria-current="page"' in part


def test_the_composition_adds_up_for_every_run(client: Client) -> None:
    row = brought(chat(2))
    replayed(row)

    part = shown(client, row, "?view=composition&call=8", **HTMX)

    columns: dict[int, list[int]] = {}
    for cells in re.findall(r"<tr[^>]*><th scope=\"row\">.*?</tr>", part.split("lab-parts")[1], re.DOTALL):
        for at, text in enumerate(re.findall(r'<td class="num[^"]*">(.*?)</td>', cells)):
            number = re.sub(r"<.*?>", "", text).replace(",", "").replace("−", "-").replace("+", "")
            columns.setdefault(at, []).append(0 if number == "—" else int(number))
    assert len(columns) == 3
    for values in columns.values():
        assert sum(values[:-1]) == values[-1] > 0


def test_a_boundary_has_an_address_with_what_it_dropped(client: Client) -> None:
    row = brought(chat(2))
    (tail,) = replayed(row, "keep-tail", room=300)
    assert tail.boundary_count

    page = shown(client, row, f"?runs=recorded,{key(tail)}&boundary=2.1")

    assert 'id="boundary"' in page
    assert "Messages dropped" in page
    assert "message=0#m-0" in page
    recorded = shown(client, row, f"?runs=recorded,{key(tail)}&boundary=1.1")
    assert f"/sessions/{row.id}/compactions/1/" in recorded


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("boundary=2.9999", "so no number 9,999"),
        ("boundary=1.9999", "so no number 9,999"),
        ("boundary=4.1", "boundary 1 of run 4; there are 2 compared"),
        ("node=2.nonsense", "has no summary nonsense"),
        ("node=1.nonsense", "no replay is compared in that place"),
    ],
)
def test_an_old_address_of_a_boundary_or_summary_stays_in_the_lab_with_a_sentence(
    client: Client, asked: str, says: str
) -> None:
    row = brought(chat(2))
    (tail,) = replayed(row, "keep-tail", room=300)

    page = shown(client, row, f"?runs=recorded,{key(tail)}&call=3&view=graphs&{asked}")
    part = shown(client, row, f"?runs=recorded,{key(tail)}&call=3&{asked}", **HTMX)

    assert says in page.partition('id="notices"')[2].partition("</div>")[0]
    assert "At call 3" in page
    assert page.count(says) == part.count(says) == 1


def test_links_and_the_play_head_name_the_runs_so_that_a_new_run_changes_no_address(client: Client) -> None:
    row = brought(chat(2))
    assert 'data-runs=""' in shown(client, row)  # nothing to keep yet
    (tail,) = replayed(row, "keep-tail", room=300)

    page = shown(client, row)

    assert f'data-runs="recorded,{key(tail)}"' in page
    own = [link for link in re.findall(r'href="([^"]+)"', page) if f"/sessions/{row.id}/lab/?" in link]
    assert own
    assert [link for link in own if "runs=" not in link] == []
    assert "does not say which runs it counts" in shown(client, row, "?call=3&boundary=2.1")
    assert "does not say which runs it counts" not in shown(client, row, f"?runs=recorded,{key(tail)}&boundary=2.1")


# ---- what every request holds ----------------------------------------------------------------------------------------
def test_system_prompt_and_tools_are_in_every_request_and_not_missing_in_a_replay(client: Client) -> None:
    row = prompted()
    (run,) = replayed(row, "keep-all", room=90_000)

    part = shown(client, row, f"?runs=recorded,{key(run)}&all=1", **HTMX)
    lines = re.findall(r'<tr id="r-\d+".*?</tr>', part, re.DOTALL)
    held = [line for line in lines if "in every request" in line]

    assert held
    assert all("missing" not in line and "only here" not in line and "differs" not in line for line in held)
    assert re.search(r"\d+ in every request", part)
    assert "0 missing" in part.split("lab-counts")[1].split("</p>")[0]

    table = shown(client, row, f"?runs=recorded,{key(run)}&view=composition", **HTMX).split("lab-parts")[1]
    tools = re.findall(r"<td.*?</td>", table.split("Tool definitions")[1].split("</tr>")[0], re.DOTALL)
    assert "—" not in tools[0]
    assert "—" in tools[1]
    assert "replays: and tools" in table


def test_one_row_between_others_is_shown_and_more_are_counted(client: Client) -> None:
    row = brought(chat(6))
    tail, whole = replayed(row, room=300)

    page = shown(client, row, f"?runs={key(tail)},{key(whole)}")

    assert page.count('class="gap"')
    assert re.findall(r">1 items? (?:that differ|the same)", page) == []
    assert re.search(r"<b>\d+ of \d+ items differ</b>", page)


def test_the_form_names_what_an_empty_field_means_and_the_defaults_are_the_newest(client: Client) -> None:
    row = brought(chat(1))
    form = client.get(f"/sessions/{row.id}/lab/form/?engine=keep-tail").content.decode()

    reserve = re.search(r'<input[^>]*name="reserve"[^>]*>', form)
    assert reserve is not None
    assert 'placeholder="0"' in reserve[0]
    assert "Empty is none, 0." in form
    assert '<option value="" selected>o200k_base</option>' in form
    client.post(f"/sessions/{row.id}/lab/defaults/")
    newest = {spec.id: spec.key for spec in replay.catalogue()}
    assert {run.key for run in runs.runs_of(row.id)} <= set(newest.values())


def test_the_engine_s_version_stands_on_its_run(client: Client) -> None:
    row = brought(chat(1))
    (run,) = replayed(row, "lossless")

    assert f", version {run.version}</b>" in shown(client, row, f"?runs=recorded,{key(run)}")


def test_summaries_of_a_replay_are_drawn_and_their_texts_have_addresses(client: Client) -> None:
    row = brought(chat(3, words="please look at src/lost.py and the rest of it"))
    (run,) = replayed(row, "flowctx", room=700, leafChunkTokens=50, thresholdRatio=0.2)
    if not run.node_count:
        pytest.skip("this engine made no summary of so short a session")
    node = runs.nodes(run)[0]

    page = shown(client, row, f"?runs={key(run)}&view=graphs&node=1.{node.id}")

    assert 'id="node"' in page
    figure = client.get(f"/sessions/{row.id}/figures/lab-graph.json?runs={key(run)}&slot=1").json()
    assert figure["data"]
    assert all(link.startswith(f"/sessions/{row.id}/lab/?") for link in figure["layout"]["meta"]["links"])
    assert "has no summary nonsense" in shown(client, row, f"?runs={key(run)}&view=graphs&node=1.nonsense")


def test_an_item_of_a_replayed_window_is_shown_whole_and_only_where_it_is(client: Client) -> None:
    row = brought(chat(1))
    (run,) = replayed(row, "keep-all")

    page = client.get(f"/sessions/{row.id}/lab/{key(run)}/calls/2/items/1/")

    assert page.status_code == 200
    assert "as Keep all gives it" in page.content.decode()
    for path in (f"{key(run)}/calls/2/items/999/", f"{key(run)}/calls/99/items/1/", "00000000/calls/1/items/1/"):
        assert client.get(f"/sessions/{row.id}/lab/{path}").status_code == 404


def test_an_item_s_page_says_the_session_s_number_of_its_call_and_the_run_s_where_it_is_another(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = brought(chat(1))
    (run,) = replayed(row, "keep-all")
    address = f"/sessions/{row.id}/lab/{key(run)}/calls/2/items/1/"
    assert "gives it at call 2<" in client.get(address).content.decode()

    (other,) = replayed(row, "keep-tail")
    monkeypatch.setattr(columns, "numbers_of", lambda series: [call + 4 for call in range(len(series.model_call))])
    page = client.get(address.replace(key(run), key(other))).content.decode()

    assert "gives it at call 2 of this run, the session&#x27;s call 5<" in page
    assert "Item 1 at call 5<" in page
    listed = shown(client, row, f"?runs={key(other)}&call=5")
    assert "At call 5<" in listed and f"/lab/{key(other)}/calls/2/items/1/" in listed


def test_what_is_simulated_stands_on_the_card_and_the_estimator_is_named(client: Client) -> None:
    row = brought(chat(1))
    (run,) = replayed(row, "flowctx")

    page = shown(client, row, f"?runs=recorded,{key(run)}")

    assert "simulated" in page
    assert run.measured is not None
    assert run.measured.estimator in page
    assert run.hash[:16] in page


def test_unknown_is_a_dash_with_a_reason(client: Client) -> None:
    row = brought(chat(1))
    replayed(row)

    page = shown(client, row)

    assert re.search(r'aria-label="unknown: [^"]+"', page)
    assert not re.search(r">0\.0</td>\s*<td[^>]*>0\.0", page.split("m-far_recall")[1].split("</tr>")[0])


# ---- what if ---------------------------------------------------------------------------------------------------------
def test_a_smaller_budget_moves_the_cuts_at_once(client: Client) -> None:
    row = brought(chat(2))
    (run,) = replayed(row, "keep-tail", room=90_000)
    address = f"/sessions/{row.id}/lab/tried/?runs={key(run)}&slot=1"
    small = budget(row, 300)

    wide = client.get(f"{address}&window=80000").content.decode()
    narrow = client.get(f"{address}&window={small}&call=4").content.decode()

    assert "Nothing would be cut" in wide
    assert re.search(r'data-tried="\d+', narrow)
    assert f'data-limit="{small}"' in narrow
    assert "would remove" in narrow
    assert "message=0#m-0" in narrow
    assert RunRecord.objects.count() == 1  # nothing is kept


def test_a_what_if_says_what_it_cannot_take_or_show(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    row = brought(chat(1))
    (run,) = replayed(row, "keep-tail")
    address = f"/sessions/{row.id}/lab/tried/?runs={key(run)}&slot=1"

    assert "is a number of tokens" in client.get(f"{address}&window=many").content.decode()

    def refuse(*_: Any, **__: Any) -> Any:
        raise replay.NeedsJob("This session is long. Start a replay.")

    monkeypatch.setattr(replay, "preview", refuse)
    assert "This session is long. Start a replay." in client.get(f"{address}&window=900").content.decode()


def test_a_what_if_can_be_replayed_as_it_stands(client: Client) -> None:
    row = brought(chat(1))
    (run,) = replayed(row, "keep-tail")
    part = client.get(f"/sessions/{row.id}/lab/tried/?runs={key(run)}&slot=1&window=3000").content.decode()
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', part))

    assert posted(client, row, **fields).status_code == 303

    assert {one.asked["window"] for one in runs.runs_of(row.id)} == {budget(row, 1_500), 3_000}


def test_without_a_script_the_what_if_is_a_page(client: Client) -> None:
    row = brought(chat(2))
    (run,) = replayed(row, "keep-tail")

    page = shown(client, row, f"?runs={key(run)}&view=what-if&slot=1&try=1&window={budget(row, 300)}")

    assert "cuts in" in page or "cut in" in page
    assert "csrfmiddlewaretoken" not in re.findall(r'<form method="get".*?</form>', page, re.DOTALL)[-1]


# ---- deleting, people, bounds ----------------------------------------------------------------------------------------
def test_a_run_is_deleted_and_its_address_says_so(client: Client) -> None:
    row = brought(chat(1))
    tail, whole = replayed(row)

    answer = client.post(f"/sessions/{row.id}/lab/{key(tail)}/delete/")

    assert answer.status_code == 303
    assert [one.id for one in runs.runs_of(row.id)] == [whole.id]
    assert "or it was deleted" in shown(client, row, f"?runs={key(tail)},{key(whole)}")
    assert client.post(f"/sessions/{row.id}/lab/{key(tail)}/delete/").status_code == 404
    assert client.get(f"/sessions/{row.id}/lab/{key(whole)}/delete/").status_code == 405


def test_a_run_of_another_session_is_not_here(client: Client) -> None:
    one, other = brought(chat(1)), brought(claude_lines(3))
    (run,) = replayed(one, "keep-all")

    assert "There is no run" in shown(client, other, f"?runs={key(run)}")
    assert client.post(f"/sessions/{other.id}/lab/{key(run)}/delete/").status_code == 404
    assert runs.runs_of(one.id)


def test_a_private_session_s_lab_is_not_there_for_others_and_viewers_start_nothing() -> None:
    cast = the_cast()
    private = session_of(upload_as(cast.alice, ("a.jsonl", claude_lines(2)), is_private=True))
    shared = session_of(
        upload_as(cast.alice, ("b.jsonl", claude_lines(2, session="0b1c2d3e-0000-4000-8000-000000000002")))
    )
    people = cast.clients()

    assert people["bob"].get(f"/sessions/{private}/lab/").status_code == 404
    assert people["bob"].post(f"/sessions/{private}/lab/run/", {"engine": "keep-all"}).status_code == 404
    assert people["alice"].post(f"/sessions/{private}/lab/run/", {"engine": "keep-all"}).status_code == 303
    page = people["vera"].get(f"/sessions/{shared}/lab/").content.decode()
    assert "Your account may look" in page
    assert "/lab/run/" not in page
    assert people["vera"].post(f"/sessions/{shared}/lab/run/", {"engine": "keep-all"}).status_code == 403


def test_words_of_a_transcript_are_escaped_and_secrets_masked(client: Client) -> None:
    row = brought(chat(1, words=f"{HOSTILE} {SECRET} " + "look " * 50, summary=f"{HOSTILE} {SECRET}"))
    made = replayed(row, "keep-all", "flowctx")

    for view in ("lists", "composition", "graphs", "what-if"):
        page = shown(client, row, f"?view={view}&call=2&all=1&try=1").partition("<main")[2]
        assert HOSTILE not in page
        assert SECRET not in page
    item = client.get(f"/sessions/{row.id}/lab/{key(made[0])}/calls/2/items/1/").content.decode()
    assert SECRET not in item
    assert HOSTILE not in item.partition("<main")[2]


def test_queries_and_bytes_do_not_follow_the_length(client: Client) -> None:
    short, long = brought(claude_lines(4)), brought(claude_lines(250, session="0b1c2d3e-0000-4000-8000-0000000000ff"))
    for row in (short, long):
        replayed(row, "keep-tail", "keep-all", "flowctx", room=900)
    for path in (
        "lab/", "lab/?view=composition", "lab/?view=graphs", "lab/?view=what-if", "lab/?all=1", "lab/waiting/",
        "figures/lab-fill.json", "figures/lab-pareto.json",
    ):  # fmt: skip
        found = []
        for row in (short, long):
            client.get(f"/sessions/{row.id}/{path}")
            found.append(queries_of(partial(client.get, f"/sessions/{row.id}/{path}")))
        assert found[1] <= found[0] + 9, path  # the newest part of a long window is read by itself: three for each run
        assert max(found) <= 50, path
        assert len(client.get(f"/sessions/{long.id}/{path}").content) < 150_000, path


def test_figures_are_bounded_and_draw_every_run(client: Client) -> None:
    row = brought(claude_lines(60))
    made = replayed(row, "keep-tail", "keep-all")

    figure = json.loads(client.get(f"/sessions/{row.id}/figures/lab-fill.json").content)
    pareto = client.get(f"/sessions/{row.id}/figures/lab-pareto.json?runs={key(made[0])}").json()

    assert figure["layout"]["meta"]["lanes"] == 3
    assert len([trace for trace in figure["data"] if trace["meta"] == "total"]) == 3
    assert len(client.get(f"/sessions/{row.id}/figures/lab-fill.json").content) < MAX_POINTS * 100
    assert pareto["layout"]["meta"]["summary"]
    assert client.get(f"/sessions/{row.id}/figures/lab-graph.json?slot=1").status_code == 404
    assert client.get("/sessions/999999/lab/").status_code == 404
    assert client.get("/sessions/999999/figures/lab-fill.json").status_code == 404


def test_an_address_is_read_and_written_alike() -> None:
    text = {"runs": "recorded,ABCDEF12", "call": "7", "view": "graphs", "boundary": "2.5", "from": "41", "all": "1"}
    place = parse(3, text)

    assert place.query == {**text, "runs": "recorded,abcdef12", "call": 7, "from": 41, "all": 1}
    assert parse(3, {"runs": ",".join(f"0000000{n}" for n in range(9))}).notices
    for junk in ("x.y", "9.1", "1.", ".", "1.-4"):
        assert parse(3, {"boundary": junk, "from": "-1", "slot": "77", "only": "x"}).query == {}


def test_pages_need_a_sign_in(anonymous_client: Client) -> None:
    for path in ("lab/", "lab/form/", "lab/tried/", "lab/waiting/", "figures/lab-fill.json"):
        assert anonymous_client.get(f"/sessions/1/{path}").status_code in (302, 303, 401, 403)
    assert anonymous_client.post("/sessions/1/lab/run/").status_code in (302, 303, 401, 403)
