"""What pyproject.toml cannot say: the version comes from the change log, and templates and static files, which lie
beside the package in a checkout, are installed inside it as `contextviz._assets`."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
ASSETS = "contextviz._assets"


def version() -> str:
    """The first numbered heading of the change log."""
    found = re.search(r"^## (\d+\.\d+\.\d+\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise SystemExit("CHANGELOG.md has no heading like '## 0.1.0', so the package has no version.")
    return found.group(1)


def files(folder: str) -> list[str]:
    """Every file below the folder, relative to it."""
    base = ROOT / folder
    return [str(path.relative_to(base)) for path in sorted(base.rglob("*")) if path.is_file()]


folders = ["templates", "static"]
setup(
    version=version(),
    packages=[*find_packages(include=["contextviz", "contextviz.*"]), *(f"{ASSETS}.{name}" for name in folders)],
    package_dir={f"{ASSETS}.{name}": name for name in folders},
    package_data={"contextviz": ["py.typed"], **{f"{ASSETS}.{name}": files(name) for name in folders}},
    include_package_data=False,
)
