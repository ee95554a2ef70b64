"""The set of goldens as a whole: what of it no engine's harness looks at is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.golden_files import name_unknown

FOLDERS = {"openvole", "flowctx", "cortext", "openbrain", "context-memory", "lossless"}
FILES = {"README.md", "upstream_expected_values.json"}


def test_golden_set_has_nothing_that_no_harness_knows(goldens: Path) -> None:
    name_unknown(goldens, FOLDERS | FILES)


def test_golden_files_that_nobody_knows_are_named(tmp_path: Path) -> None:
    (tmp_path / "openvole").mkdir()
    (tmp_path / "openvole" / "bm25.json").write_text("[]")
    (tmp_path / "openvole" / "weather.json").write_text("[]")
    name_unknown(tmp_path, {"openvole"})

    with pytest.raises(pytest.skip.Exception, match=r"nothing here checks weather\.json of"):
        name_unknown(tmp_path / "openvole", {"bm25.json"})
