"""The table of other programs: what could not be measured says why, and nothing of a person's is given to them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench import peers
from bench.peers import PEERS, NotMeasured, Peer, Place, Row, rendered


def test_a_peer_that_cannot_be_installed_is_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_place: Place) -> str:
        raise NotMeasured("no such package")

    def end(_place: Place) -> tuple[float, int]:
        raise NotMeasured("it ended with 3")

    def version(_place: Place) -> str:
        return "1.2"

    monkeypatch.setattr(peers, "PEERS", (Peer("absent", "PyPI", "reads", refuse, end),
                                         Peer("broken", "npm", "sums", version, end)))  # fmt: skip

    status = peers.main(["--mb", "0.05"])

    _, _, absent, broken = capsys.readouterr().out.splitlines()
    assert status == 0
    assert absent.split()[:3] == ["absent", "—", "PyPI"] and absent.endswith("reads (not installed: no such package)")
    assert broken.split()[:3] == ["broken", "1.2", "npm"] and broken.endswith("sums (did not do it: it ended with 3)")


def test_a_row_has_its_rate_and_memory() -> None:
    row = Row("one", "1.0", "PyPI", "a page", 0.5, 100 * 1024 * 1024)

    assert rendered([row], 2_000_000, 30).splitlines()[2].split()[:6] == ["one", "1.0", "PyPI", "0.50", "4.0", "100"]


def test_a_program_is_measured_alone_with_a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTVIZ_SECRET_KEY", "not for others")
    told = "import os, pathlib; pathlib.Path('told').write_text(repr(sorted(os.environ)) + os.environ['HOME'])"
    run = peers._command(sys.executable, "-c", told)

    seconds, peak = run(Place(tmp_path, tmp_path / "s.jsonl", tmp_path / "claude"))

    seen = (tmp_path / "told").read_text()
    assert seen.endswith(str(tmp_path)) and "CONTEXTVIZ" not in seen and os.environ["HOME"] not in seen
    assert seconds > 0 and peak > 1024 * 1024


def test_a_program_that_fails_says_its_last_words(tmp_path: Path) -> None:
    run = peers._command(sys.executable, "-c", "raise SystemExit('no session here')")

    with pytest.raises(NotMeasured, match="no session here"):
        run(Place(tmp_path, tmp_path / "s.jsonl", tmp_path))


def test_every_peer_says_what_it_is_asked_for() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert all(peer.work and peer.origin in ("here", "PyPI", "npm") for peer in PEERS)
