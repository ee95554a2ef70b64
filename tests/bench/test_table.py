"""The bench's command: one table, each number beside the bare parser's of the same run."""

from __future__ import annotations

import pytest

from bench.__main__ import main
from bench.table import Case, Measured, rendered


@pytest.mark.slow  # two processes start
def test_the_command_prints_a_row_for_each_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(
        ["--mb", "0.2", "--kinds", "plain", "--formats", "openclaw", "--measures", "parse,read", "--rounds", "1"]
    )

    rows = capsys.readouterr().out.splitlines()
    assert status == 0
    assert len(rows) == 3
    assert rows[1].startswith("plain openclaw") and "bare orjson lines" in rows[1] and "100.0%" in rows[1]
    assert "read, no tokens" in rows[2]


def test_a_rate_is_shown_as_a_share_of_the_bare_parser_of_the_same_run() -> None:
    case = Case("plain", "openclaw", 20_000_000, 5_000, 1)
    case.found = {"parse": Measured(0.05, 0.05, 1, 0), "import": Measured(1.0, 1.5, 300 * 1024 * 1024, 0)}

    row = rendered([case]).splitlines()[2]

    assert row.split()[:2] == ["plain", "openclaw"]
    assert "20.0" in row and "5.0%" in row and "300" in row


def test_without_the_bare_parser_the_share_is_not_known() -> None:
    case = Case("plain", "openclaw", 1_000_000, 10, 1)
    case.found = {"read": Measured(1.0, 1.0, 1, 0)}

    assert "—" in rendered([case]).splitlines()[1]


def test_an_unknown_kind_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--kinds", "plane"])

    assert "plane is not one of plain, repeats" in capsys.readouterr().err
