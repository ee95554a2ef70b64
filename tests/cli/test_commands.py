"""Commands are called in messages as they can be run where the program was started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from contextviz.commands import command, command_here
from tests.stack import Stack

INSTALLED = "/usr/local/bin/contextviz"


def test_installed_it_is_the_name_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [INSTALLED, "up"])

    assert command("sign-in") == command_here("sign-in") == "contextviz sign-in"


def test_in_a_checkout_it_is_the_script_with_its_place_only_in_a_terminal_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checkout = tmp_path / "our checkout"
    checkout.mkdir()
    monkeypatch.setattr(sys, "argv", [str(checkout / "manage.py"), "up"])

    monkeypatch.chdir(checkout)
    assert command("sign-in") == command_here("sign-in") == "python3 manage.py sign-in"

    monkeypatch.chdir(tmp_path)
    assert command("sign-in") == "python3 manage.py sign-in"
    assert command_here("sign-in") == f"python3 '{checkout / 'manage.py'}' sign-in"


@pytest.mark.slow  # starts processes
def test_a_checkout_s_commands_say_so_themselves(stack: Stack) -> None:
    assert stack.run("--help").stdout.startswith("usage: python3 manage.py COMMAND")
    assert stack.run("export", "--help").stdout.startswith("usage: python3 manage.py export")
    assert stack.run("inspect", "--help").stdout.startswith("usage: python3 manage.py inspect")
    assert stack.run("replay", status=2).stderr.startswith("contextviz replay: ")
