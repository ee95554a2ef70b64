"""Two files of one session, called alike: both are kept and read together, in whatever order and pieces they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.services import digest, ingest
from contextviz.services.digest import selecting
from contextviz.services.digest.remembering import RESIDENT
from contextviz.store.models import ArtifactRecord, SessionRecord, UploadBatchRecord
from contextviz.store.queries import jobs
from contextviz.store.queries.transcripts import load_transcript
from contextviz.store.values import JobRow
from tests.services.building import claude_lines, upload
from tests.sources.codex.building import Rollout
from tests.sources.openclaw.build import Script, script
from tests.sources.openhands import building as openhands

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SESSION = "0b1c2d3e-0000-4000-8000-000000000001"
Files = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    RESIDENT.clear()


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def claude(first: slice, second: slice) -> Files:
    """The lines of twelve of one session, as two folders have them."""
    lines = claude_lines(6).splitlines(keepends=True)
    return [(f"-w-{name}/{SESSION}.jsonl", "".join(lines[part])) for name, part in (("a", first), ("b", second))]


def claude_resumed() -> Files:
    """A session that was resumed in another folder: its first lines were copied, then both went on."""
    lines = claude_lines(5).splitlines(keepends=True)
    other = claude_lines(4).replace("a01-0002", "x-a2").replace("a01-0003", "x-a3").replace("q01-0002", "x-q2")
    other = other.replace("q01-0003", "x-q3").replace("msg_01-000", "msg_x-000").replace("T09:", "T10:")
    ours = "".join(lines[:4] + other.splitlines(keepends=True)[4:])
    return [(f"-w-a/{SESSION}.jsonl", "".join(lines)), (f"-w-b/{SESSION}.jsonl", ours)]


def talk() -> Script:
    one = script("s-1")
    for turn in range(4):
        one.user(f"u{turn}")
        one.answer(f"a{turn}", prompt=100 * turn + 90)
    return one


def openclaw(first: slice, second: slice) -> Files:
    one = talk()
    parts = [[one.header, *one.entries[part]] for part in (first, second)]
    return [(f"{name}/s-1.jsonl", jsonl(rows)) for name, rows in zip(("one", "two"), parts, strict=True)]


def pi(first: slice, second: slice) -> Files:
    files = openclaw(first, second)
    name = "2026-03-02T10-00-00-000Z_0b1c2d3e-0000-4000-8000-000000000009.jsonl"
    return [(f"{number}/{name}", text) for number, (_, text) in enumerate(files)]


def codex() -> Files:
    """Two files of one thread: neither is the beginning of the other, and the longer one counts."""
    long, short = Rollout(), Rollout()
    for rollout, words in ((long, ("one", "two")), (short, ("other",))):
        for word in words:
            rollout.turn()
            rollout.message("user", word)
            rollout.message("assistant", f"said {word}")
            rollout.usage(100, 0, 5)
    name = "rollout-2026-03-02T10-00-00-019e0000-0001-7000-8000-000000000001.jsonl"
    return [(f"{place}/{name}", "\n".join(one.lines) + "\n") for place, one in (("a", long), ("b", short))]


def run(instance: str, start: int, prompt: int) -> Any:
    asked = openhands.user(start, f"do {instance} {start}")
    answer = openhands.reply(f"r-{instance}-{start}", ["ls"], openhands.usage(prompt))
    done = openhands.runs(start + 1, "ls", answer)
    return {"instance_id": instance, "history": [asked, done], "metadata": {}, "metrics": {}, "test_result": {}}


def runs(*instances: str) -> Files:
    """Two evaluations of the same instances."""
    return [
        (f"k{number}/output.jsonl", jsonl([run(one, 100 * number, 50 * number) for one in instances]))
        for number in (1, 2)
    ]


def same_times() -> Files:
    """Two runs whose clocks agree, as where times were not kept: what they say tells them apart."""
    (first, one), (second, two) = runs("i-1")
    for number in (200, 201):
        two = two.replace(openhands.at(number), openhands.at(number - 100))
    return [(first, one), (second, two)]


def gemini() -> Files:
    def chat(answers: int) -> str:
        messages = [
            part
            for turn in range(answers)
            for part in (
                {"id": f"u{turn}", "timestamp": f"2026-03-02T10:0{turn}:00Z", "type": "user", "content": f"q{turn}"},
                {"id": f"g{turn}", "timestamp": f"2026-03-02T10:0{turn}:30Z", "type": "gemini", "content": "yes",
                 "model": "gemini-2.5-pro", "tokens": {"input": 10, "output": 2, "total": 12}},
            )
        ]  # fmt: skip
        times = {"startTime": "2026-03-02T10:00:00Z", "lastUpdated": f"2026-03-02T10:0{answers}:00Z"}
        return json.dumps({"sessionId": "g-1", "projectHash": "h", **times, "messages": messages})

    return [("a/session-1.json", chat(3)), ("b/session-1.json", chat(2))]


CASES: dict[str, tuple[Callable[[], Files], dict[str, tuple[int, int]]]] = {
    "claude overlapping": (lambda: claude(slice(0, 8), slice(4, 12)), {SESSION: (12, 6)}),
    "claude halves": (lambda: claude(slice(0, 6), slice(6, 12)), {SESSION: (12, 6)}),
    "claude resumed elsewhere": (claude_resumed, {SESSION: (14, 7)}),
    "openclaw overlapping": (lambda: openclaw(slice(0, 6), slice(2, 8)), {"s-1": (8, 4)}),
    "openclaw halves": (lambda: openclaw(slice(0, 4), slice(4, 8)), {"s-1": (8, 4)}),
    "pi halves": (lambda: pi(slice(0, 4), slice(4, 8)), {"s-1": (8, 4)}),
    "codex, the longer": (codex, {"019e0000-0001-7000-8000-000000000001": (4, 2)}),
    "openhands, a run each": (lambda: runs("i-1"), {"i-1": (2, 1), "i-1-2": (2, 1)}),
    "openhands, at one time": (same_times, {"i-1": (2, 1), "i-1-2": (2, 1)}),
    "openhands, runs of two": (
        lambda: runs("i-1", "i-2"), {"i-1": (2, 1), "i-1-2": (2, 1), "i-2": (2, 1), "i-2-2": (2, 1)},
    ),
    "gemini, the longer": (gemini, {"g-1": (6, 3)}),
}  # fmt: skip


def save(folder: Path, files: Files) -> list[Path]:
    paths = []
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        paths.append(folder / name)
    return paths


def bring(*paths: Path) -> JobRow:
    job = ingest.import_paths(list(paths), now=datetime.now(UTC))
    digest.digest(job)
    row = jobs.get_job(job)
    assert row.state == "done", row.outcome
    return row


def counted() -> dict[str, tuple[int, int]]:
    return {row.source_id: (row.message_count, row.call_count) for row in SessionRecord.objects.all()}


def everything() -> dict[str, Any]:
    """What a person sees of every session, but for the files' names."""
    found = {}
    for row in SessionRecord.objects.all():
        one = load_transcript(row.pk)
        numbers = (row.title, row.spend_total_tokens, row.last_prompt_tokens, row.window, row.ended_at, row.entry_count)
        said = [(message.id, message.on_active_path, message.blocks) for message in one.messages]
        calls = [(call.id, call.usage, call.on_active_path) for call in one.calls]
        found[row.source_id] = (numbers, said, calls, one.tree, sorted(problem.code for problem in one.problems))
    return found


def start_anew() -> None:
    SessionRecord.objects.all().delete()
    UploadBatchRecord.objects.all().delete()
    RESIDENT.clear()


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0), (1, 0, 1)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_two_files_that_are_called_alike_are_read_as_both_at_once(
    tmp_path: Path, case: str, order: tuple[int, ...]
) -> None:
    make, expected = CASES[case]
    paths = save(tmp_path, make())
    bring(tmp_path)
    assert counted() == expected
    at_once = everything()
    start_anew()

    for number in order:
        bring(paths[number])

    assert counted() == expected
    assert everything() == at_once
    for path in paths:
        bring(path)
    assert everything() == at_once


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_uploads_that_are_called_alike_take_no_other_files_place(case: str, is_reversed: bool) -> None:
    make, expected = CASES[case]
    files = [(name.rpartition("/")[2], text) for name, text in make()]

    for one in reversed(files) if is_reversed else files:
        upload(one)

    assert counted() == expected


@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_end_of_two_files_is_the_newest_whatever_their_sizes(tmp_path: Path, is_reversed: bool) -> None:
    lines = claude_lines(6).splitlines(keepends=True)
    titles = [json.dumps({"type": "ai-title", "aiTitle": word, "sessionId": SESSION}) + "\n" for word in ("old", "new")]
    early = [*lines[:8], titles[0], json.dumps({"type": "progress", "note": "x" * 5000}) + "\n"]
    files = [(f"a/{SESSION}.jsonl", "".join(early)), (f"b/{SESSION}.jsonl", "".join([*lines[4:], titles[1]]))]
    for path in reversed(save(tmp_path, files)) if is_reversed else save(tmp_path, files):
        bring(path)

    row = SessionRecord.objects.get()
    found = load_transcript(row.pk)
    assert (row.title, row.last_prompt_tokens) == ("new", 10 + 5 + 105)
    assert found.tree is not None
    assert found.tree.active_leaf == "a01-0005" and found.tree.abandoned == []
    assert [one.id for one in found.messages][::2] == [f"q01-{turn:04d}" for turn in range(6)]
    assert row.ended_at == datetime(2026, 2, 1, 9, 0, 11, tzinfo=UTC)


def test_a_file_that_is_rewritten_at_its_place_replaces_itself_and_not_the_other(tmp_path: Path) -> None:
    first, second = save(tmp_path, claude(slice(0, 6), slice(6, 12)))
    bring(first, second)
    second.write_text("".join(claude_lines(5).replace("alpha", "omega").splitlines(keepends=True)[6:]))

    bring(second)

    assert counted() == {SESSION: (10, 5)}
    assert ArtifactRecord.objects.count() == 2


def test_a_shorter_thread_of_codex_is_told(tmp_path: Path) -> None:
    long, short = save(tmp_path, codex())
    bring(short)
    job = bring(long)
    assert [one["code"] for one in job.result["problems"]] == ["count_mismatch"]
    bring(short)

    job = bring(tmp_path)
    assert counted() == {"019e0000-0001-7000-8000-000000000001": (4, 2)}, job.outcome


def test_a_shorter_download_of_a_document_does_not_take_its_place() -> None:
    (_, longer), (_, shorter) = gemini()
    upload(("session-1.json", longer))
    job = upload(("session-1.json", shorter))

    assert counted() == {"g-1": (6, 3)} and "1 unchanged" in job.outcome
    assert any("holds less of g-1" in one.text for one in jobs.job_log(job.id))
    assert upload(("session-1.json", longer + " ")).state == "done"
    assert counted() == {"g-1": (6, 3)}


def test_a_third_run_of_an_instance_keeps_the_other_two(tmp_path: Path) -> None:
    paths = save(tmp_path, [*runs("i-1", "i-2"), ("k3/output.jsonl", jsonl([run("i-1", 300, 9), run("i-3", 300, 9)]))])
    bring(tmp_path)
    at_once = everything()
    start_anew()

    first, second, third = (bring(path).outcome for path in reversed(paths))

    assert first == "Read 1 file: 2 sessions (2 new)."
    assert second.startswith("Read 1 file: 2 sessions (1 new, 1 updated). 1 other session that is read together")
    assert third.startswith("Read 1 file: 2 sessions (2 updated). 4 other sessions that are read together with them")
    assert bring(tmp_path).outcome.startswith("Nothing new")
    assert sorted(at_once) == ["i-1", "i-1-2", "i-1-3", "i-2", "i-2-2", "i-3"]
    assert everything() == at_once


def other(day: int, turns: int) -> str:
    """A session of its own that began when the others of that day did."""
    name = f"0b1c2d3e-0000-4000-8000-{day:012d}"
    return claude_lines(turns, session=name).replace("01-000", f"{day}-000")


def follow(path: Path) -> None:
    digest.digest(ingest.import_paths([path], now=datetime.now(UTC), is_followed=True))


def test_an_import_lists_the_sessions_of_its_files_alone(tmp_path: Path) -> None:
    for day in (3, 4, 5):
        (tmp_path / f"{day}.jsonl").write_text(other(day, 2))
    bring(tmp_path)
    path = tmp_path / "4.jsonl"
    path.write_text(other(4, 3))

    job = bring(path)

    own = SessionRecord.objects.get(source_id__endswith="4")
    assert (job.outcome, job.result["sessions"]) == ("Read 1 file: 1 session (1 updated).", [own.pk])
    job = bring(path)
    assert job.result["sessions"] == [own.pk]
    assert job.outcome == "Nothing new: 1 file with the same content was read before."


def test_sessions_that_change_with_a_file_are_counted_by_themselves(tmp_path: Path) -> None:
    """A copy came first and had the calls; its original takes them."""
    copy = claude_lines(4, session=SESSION[:-1] + "9").replace("09-000", "01-000").replace("T09:", "T10:")
    (tmp_path / "copy.jsonl").write_text(copy)
    bring(tmp_path / "copy.jsonl")
    (tmp_path / "original.jsonl").write_text(claude_lines(3))

    job = bring(tmp_path / "original.jsonl")

    own = SessionRecord.objects.get(source_id=SESSION)
    assert job.result["sessions"] == [own.pk] and own.call_count == 3
    assert SessionRecord.objects.get(source_id__endswith="9").call_count == 1
    assert job.outcome == (
        "Read 1 file: 1 session (1 new). 1 other session that is read together with it was brought up to date."
    )


def test_what_a_follower_reads_meanwhile_counts_as_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(claude_lines(3))
    bring(path)
    path.write_text(claude_lines(4))
    real, came = selecting.selected, list[bool]()

    def overtaken(*values: Any) -> Any:
        chosen = real(*values)
        if not came:
            came.append(True)
            follow(path)  # another worker's job ends while this one begins
        return chosen

    monkeypatch.setattr("contextviz.services.digest.job.selected", overtaken)
    job = bring(path)

    assert job.outcome == "Read 1 file: 1 session (1 updated)."
    assert bring(path).outcome.startswith("Nothing new: 1 file with the same content was read before (just now, since")


@pytest.mark.parametrize("names", [("a/dup", "a/res"), ("a/dup", "a/res", "b/copy"), ("b/copy", "a/res", "a/dup")])
def test_whose_copied_calls_are_does_not_depend_on_further_copies(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Three questions, and a session that begins with them at the same times; one of them lies there twice."""
    texts = {"dup": claude_lines(3), "copy": claude_lines(3),
             "res": claude_lines(4, session=SESSION[:-1] + "9").replace("09-000", "01-000")}  # fmt: skip
    paths = save(tmp_path, [(f"{name}.jsonl", texts[name.rpartition("/")[2]]) for name in names])
    for path in paths:
        bring(path)
    assert {row.source_id[-1]: row.call_count for row in SessionRecord.objects.all()} == {"1": 3, "9": 1}
    start_anew()
    bring(tmp_path)

    assert {row.source_id[-1]: row.call_count for row in SessionRecord.objects.all()} == {"1": 3, "9": 1}


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("with_root", [False, True])
def test_halves_of_a_sub_agents_file_are_one_sub_agent(tmp_path: Path, is_reversed: bool, with_root: bool) -> None:
    inner = [
        json.dumps(json.loads(line) | {"isSidechain": True, "agentId": "abc"}) + "\n"
        for line in claude_lines(4).replace("01-000", "in-000").splitlines()
    ]
    folders = (f"-w-a/{SESSION}/subagents", f"-w-b/{SESSION}/subagents")
    files = [(f"{folder}/agent-abc.jsonl", "".join(inner[part])) for folder, part in
             zip(folders, (slice(0, 4), slice(4, 8)), strict=True)]  # fmt: skip
    if with_root:
        files.append((f"-w-a/{SESSION}.jsonl", claude_lines(2)))
    paths = save(tmp_path, files)

    for path in reversed(paths) if is_reversed else paths:
        bring(path)

    assert counted() == ({SESSION: (12, 6)} if with_root else {"agent-abc": (8, 4)})
    said = [one.id for one in load_transcript(SessionRecord.objects.get().pk).messages]
    assert said[-8:] == [f"{kind}in-{turn:04d}" for turn in range(4) for kind in ("q", "a")]
