"""What pyproject.toml cannot say: the version comes from the change log, and templates, static files and documents,
which lie beside the package in a checkout, are installed inside it as `contextviz._assets`."""

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
    """Every file below the folder, relative to it; of the documents those that the product shows."""
    base = ROOT / folder
    found = [path for path in sorted(base.rglob("*")) if path.is_file()]
    return [str(path.relative_to(base)) for path in found if folder != "docs" or path.suffix == ".md"]


folders = ["templates", "static", "docs"]
setup(
    version=version(),
    packages=[*find_packages(include=["contextviz", "contextviz.*"]), *(f"{ASSETS}.{name}" for name in folders)],
    package_dir={f"{ASSETS}.{name}": name for name in folders},
    package_data={
        "contextviz": ["py.typed"],
        "contextviz.tokens": ["prices.json"],
        **{f"{ASSETS}.{name}": files(name) for name in folders},
    },
    include_package_data=False,
)
