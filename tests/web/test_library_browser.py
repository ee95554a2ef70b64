"""The Library in a real browser: files arrive and appear without a reload, by mouse and by key."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from contextviz.store.queries import sessions
from tests.services.building import claude_lines, upload

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]  # a browser takes seconds


def watched(page: Any) -> list[str]:
    """What the page complains about: script errors and refused content."""
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if "Content Security Policy" in line.text else None)
    return said


def test_chosen_files_are_sent_and_told(signed_in_page: Any, live_url: str, tmp_path: Path) -> None:
    said = watched(signed_in_page)
    (tmp_path / "one.jsonl").write_text(claude_lines(3))
    (tmp_path / "empty.jsonl").write_text("")
    signed_in_page.goto(live_url + "/settings/")
    signed_in_page.goto(live_url + "/")

    signed_in_page.set_input_files("#upload-files", [tmp_path / "empty.jsonl", tmp_path / "one.jsonl"])

    signed_in_page.wait_for_selector("text=alpha question 0")  # the page found the session by itself
    assert sessions.session_count() == 1
    assert said == []


def test_files_chosen_together_are_read_together(signed_in_page: Any, live_url: str, tmp_path: Path) -> None:
    said = watched(signed_in_page)
    upload(("other.jsonl", claude_lines(1, session="0b1c2d3e-0000-4000-8000-000000000009")))  # a Library with rows
    root = "0b1c2d3e-0000-4000-8000-000000000001"
    (tmp_path / f"{root}.jsonl").write_text(claude_lines(3))
    own = [json.loads(line) for line in claude_lines(2, word="beta").splitlines()]
    for number, row in enumerate(own):
        row |= {"isSidechain": True, "agentId": "a1b2c3d4", "uuid": f"s{number}"}
        row["parentUuid"] = f"s{number - 1}" if number else None
    (tmp_path / "agent-a1b2c3d4.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    signed_in_page.goto(live_url + "/")

    signed_in_page.set_input_files("#upload-files", [tmp_path / f"{root}.jsonl", tmp_path / "agent-a1b2c3d4.jsonl"])

    signed_in_page.wait_for_selector("text=1 sub-agent")  # one session, not two
    assert sessions.session_count() == 2
    signed_in_page.wait_for_selector(".upload-row >> text=Read 2 files: 1 session (1 new).")
    assert signed_in_page.locator(".upload-row >> text=1 session (1 new)").count() == 1, "said once for all of them"
    assert signed_in_page.locator(".upload-row >> text=Open the session").count() == 2
    signed_in_page.click("text=Dismiss what is done")
    assert signed_in_page.locator(".upload-row, .upload-dismiss").count() == 0
    assert said == []


def test_a_file_of_a_folder_that_is_no_transcript_is_no_failure(
    signed_in_page: Any, live_url: str, tmp_path: Path
) -> None:
    said = watched(signed_in_page)
    upload(("other.jsonl", claude_lines(1, session="0b1c2d3e-0000-4000-8000-000000000009")))
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "one.jsonl").write_text(claude_lines(2))
    (folder / "BRAIN.md").write_text("# Notes\n\nWords.\n")
    (folder / "page.html").write_text("<!doctype html><html></html>")
    signed_in_page.goto(live_url + "/")

    signed_in_page.set_input_files("input[webkitdirectory]", folder)

    signed_in_page.wait_for_selector(".upload-row.sum >> text=Read 2 files: 1 session (1 new).")
    rows = signed_in_page.locator(".upload-row:not(.sum)")
    signs = rows.locator(":scope > :first-child").all_inner_texts()
    marks = dict(zip(rows.locator(".name").all_inner_texts(), signs, strict=True))
    assert marks == {"one.jsonl": "✓", "BRAIN.md": "–", "page.html": "–"}
    assert signed_in_page.locator(".upload-row.failed").count() == 0
    assert said == []


def test_a_refused_file_says_why(signed_in_page: Any, live_url: str, tmp_path: Path) -> None:
    (tmp_path / "page.jsonl").write_text("<!doctype html><html></html>")
    signed_in_page.goto(live_url + "/")

    signed_in_page.set_input_files("#upload-files", [tmp_path / "page.jsonl"])

    signed_in_page.wait_for_selector("text=page.jsonl is a web page, not a transcript")


def test_search_keeps_the_focus_and_the_address(signed_in_page: Any, live_url: str) -> None:
    for number, word in enumerate(("checkout", "search"), start=1):
        session = f"0b1c2d3e-0000-4000-8000-{number:012d}"
        upload((f"{session}.jsonl", claude_lines(1, session=session, word=word)))
    said = watched(signed_in_page)
    signed_in_page.goto(live_url + "/")

    signed_in_page.keyboard.press("/")
    signed_in_page.keyboard.type("checkout")

    signed_in_page.wait_for_url("**/?q=checkout")
    signed_in_page.wait_for_selector("text=1 of 2 sessions")
    assert signed_in_page.evaluate("document.activeElement.name") == "q"
    assert said == []


def test_rows_are_walked_and_opened_by_key(signed_in_page: Any, live_url: str) -> None:
    upload(("one.jsonl", claude_lines(2)))
    signed_in_page.goto(live_url + "/")

    signed_in_page.keyboard.press("j")
    signed_in_page.keyboard.press("Enter")

    signed_in_page.wait_for_url(f"**/sessions/{sessions.recent_sessions(1)[0].id}/**")


@pytest.mark.parametrize("path", ["/", "/jobs/", "/settings/", "/sign-in/?token=old"])
def test_nothing_is_wider_than_a_phone(signed_in_page: Any, live_url: str, path: str) -> None:
    upload(("one.jsonl", claude_lines(2, word="a-very-long-word-" * 20)))
    signed_in_page.set_viewport_size({"width": 390, "height": 844})

    signed_in_page.goto(live_url + path)

    assert signed_in_page.evaluate("document.documentElement.scrollWidth") <= 390
    narrow = signed_in_page.evaluate(
        "[...document.querySelectorAll('.main .btn, .main .chip')].filter(e => e.checkVisibility())"
        ".map(e => e.getBoundingClientRect().height).filter(h => h < 24)"
    )
    assert narrow == [], json.dumps(narrow)


def test_each_file_says_what_became_of_it(signed_in_page: Any, live_url: str, tmp_path: Path) -> None:
    said = watched(signed_in_page)
    (tmp_path / "one.jsonl").write_text(claude_lines(3))
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n"
    (tmp_path / "pointer.jsonl").write_text(pointer)
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in (2, 3):
            session = f"0b1c2d3e-0000-4000-8000-{number:012}"
            archive.writestr(f"logs/{number}.jsonl", claude_lines(1, session=session, word=f"word{number}"))
        archive.writestr("notes.txt", "hello")
    signed_in_page.goto(live_url + "/")

    names = ("one.jsonl", "pointer.jsonl", "many.zip")
    signed_in_page.set_input_files("#upload-files", [tmp_path / name for name in names])

    def row(name: str) -> Any:
        return signed_in_page.locator(f'.upload-row:has([title="{name}"])')

    row("many.zip").get_by_text("2 of its 3 files read; left out: ").wait_for()
    row("pointer.jsonl").get_by_text("Not read: a Git LFS pointer, not the file itself.").wait_for()
    assert "failed" in row("pointer.jsonl").get_attribute("class")
    row("one.jsonl").get_by_role("link", name="Open the session").click()
    signed_in_page.wait_for_url("**/sessions/*/")
    assert "alpha question 0" in signed_in_page.title() + signed_in_page.inner_text("body")
    assert said == []
