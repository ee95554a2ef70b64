from __future__ import annotations

from pathlib import Path

import pytest

from contextviz import __version__, read_version
from contextviz.cli.main import main
from tests.stack import Stack


def test_without_a_command_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "sign-in" in capsys.readouterr().out


def test_the_version_is_the_newest_in_the_change_log(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__
    assert f"## {__version__}" in (repository / "CHANGELOG.md").read_text()


def test_a_change_log_without_a_release_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n")

    assert read_version(tmp_path / "CHANGELOG.md") is None
    assert read_version(tmp_path / "absent.md") is None


@pytest.mark.slow  # starts a process: settings are read once in each
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("CONTEXTVIZ_MAX_UPLOAD_MB", "many", "must be a whole number of at least 1"),
        ("CONTEXTVIZ_DEBUG", "perhaps", "write yes or no"),
        ("CONTEXTVIZ_DATABASE_URL", "mysql://x/y", "must look like postgres://"),
        ("CONTEXTVIZ_SECRET_KEY_FILE", "/nowhere", "cannot be read"),
        ("CONTEXTVIZ_LOG_LEVEL", "LOUD", "DEBUG, INFO, WARNING or ERROR"),
        ("CONTEXTVIZ_DATA_DIR", "/proc/nowhere", "cannot be used"),
    ],
)
def test_a_wrong_setting_is_one_sentence(stack: Stack, name: str, value: str, sentence: str) -> None:
    stack.environment[name] = value

    refused = stack.run("check", status=2)

    assert sentence in refused.stderr
    assert name in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.slow  # starts a process: settings are read once in each
def test_an_unwise_setting_is_reported_with_what_to_do(stack: Stack) -> None:
    stack.environment |= {"CONTEXTVIZ_ALLOWED_HOSTS": "*", "CONTEXTVIZ_DATADIR": "/x"}

    refused = stack.run("check", status=1)

    assert "contextviz.E001" in refused.stderr
    assert "Did you mean CONTEXTVIZ_DATA_DIR?" in refused.stderr
