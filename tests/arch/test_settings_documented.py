from __future__ import annotations

import re
from pathlib import Path

from contextviz.settings import SETTINGS_READ

BEFORE_SETTINGS = {"CONTEXTVIZ_NO_BOOTSTRAP"}  # read by manage.py


def test_every_setting_has_its_section_and_no_other_is_promised(repository: Path) -> None:
    page = (repository / "docs" / "settings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^### (CONTEXTVIZ_\w+)$", page, re.MULTILINE))

    assert documented == SETTINGS_READ | BEFORE_SETTINGS


def test_settings_are_read_in_one_file_only(repository: Path) -> None:
    elsewhere = [
        str(path.relative_to(repository))
        for path in (repository / "contextviz").rglob("*.py")
        if path.name != "settings.py" and re.search(r"environ(\.get\(|\[)\W*CONTEXTVIZ_", path.read_text("utf-8"))
    ]

    assert elsewhere == []
