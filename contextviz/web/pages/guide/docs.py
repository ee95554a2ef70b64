"""The documents of docs/, as pages of the product."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString

from contextviz.store.values import NotFound
from contextviz.web.markdown import document

# What a newcomer reads first; the others follow by name.
FIRST = ("cli", "settings", "data", "security", "inspect", "pages", "api", "glossary", "architecture", "bench")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
GROUPS = {"": "Using it", "formats": "Formats", "engines": "Engines", "decisions": "Decisions"}


@dataclass(frozen=True, slots=True)
class DocLink:
    """A line of the list at the side."""

    name: str
    title: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class DocGroup:
    """Documents of one folder."""

    title: str
    links: tuple[DocLink, ...]


@dataclass(frozen=True, slots=True)
class DocPage:
    """One document beside the list of all."""

    # Its title, and the document as HTML, heading included
    title: str
    html: SafeString
    groups: tuple[DocGroup, ...]


def docs_folder() -> Path:
    """Where the documents are: beside the package in a checkout, inside it in an installation."""
    return Path(settings.ASSETS_DIR) / "docs"


@lru_cache(maxsize=4)
def _listed(folder: Path) -> dict[str, str]:
    """Titles by name ("cli", "formats/codex"), in the order of the list."""
    found = {}
    for path in folder.rglob("*.md"):
        name = path.relative_to(folder).with_suffix("").as_posix().removesuffix("/README")
        title = _TITLE.search(path.read_text(encoding="utf-8"))
        found[name] = title[1].replace("`", "") if title else name
    order = {name: at for at, name in enumerate(FIRST)}
    return dict(sorted(found.items(), key=lambda one: ("/" in one[0], order.get(one[0], 99), one[0])))


def doc_titles() -> list[tuple[str, str]]:
    """Name and title of every document."""
    return list(_listed(docs_folder()).items())


def doc_page(name: str) -> DocPage:
    """The document called `name`; raises NotFound. Only names of the list are opened, so none leads elsewhere."""
    titles = _listed(docs_folder())
    if name not in titles:
        raise NotFound(f"There is no document called {name[:80]}. The list of all is at {reverse('docs')}.")
    path = docs_folder() / f"{name}.md"
    if not path.is_file():
        path = docs_folder() / name / "README.md"
    return DocPage(titles[name], _rendered(path, path.stat().st_mtime_ns), _groups(titles, name))


@lru_cache(maxsize=64)
def _rendered(path: Path, changed: int) -> SafeString:
    folder = path.parent.relative_to(docs_folder()).as_posix()
    return document(path.read_text(encoding="utf-8"), lambda href: _link(href, folder))


def _link(href: str, folder: str) -> str:
    """A link between documents as an address of the product; what is not among them leads nowhere."""
    target, _, anchor = href.partition("#")
    if not target:
        return href
    if "://" in target:
        return target if target.startswith("https://") else ""
    name = posixpath.normpath(posixpath.join(folder, target)).removesuffix(".md").removesuffix("/README")
    if name not in _listed(docs_folder()):
        return ""
    return reverse("docs_page", args=[name]) + (f"#{anchor}" if anchor else "")


def _groups(titles: dict[str, str], current: str) -> tuple[DocGroup, ...]:
    by_folder: dict[str, list[DocLink]] = {key: [] for key in GROUPS}
    for name, title in titles.items():
        folder = name.partition("/")[0] if "/" in name or name in GROUPS else ""
        # A folder's own page would stand under a heading of the same word.
        shown = "Overview" if name == folder else title
        link = DocLink(name, shown, reverse("docs_page", args=[name]), name == current)
        by_folder.setdefault(folder, []).append(link)
    return tuple(DocGroup(GROUPS.get(key, key.capitalize()), tuple(links)) for key, links in by_folder.items() if links)
