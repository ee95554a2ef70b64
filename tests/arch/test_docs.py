"""The documents are held to the code: what they name exists, and what exists is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

from contextviz.cli.main import USAGE

PATHS = re.compile(r"`((?:contextviz|docs|tests|templates|static|scripts)/[\w./-]*[\w/])`")
LINKS = re.compile(r"\]\(([^)\s]+)\)")
ADDRESSES = re.compile(r"""https?://|["'(]//[a-z0-9]""", re.IGNORECASE)
# Names that browsers and validators compare and never fetch.
NAMES_NOT_FETCHED = ("http://www.w3.org/",)
REGISTRIES = re.compile(
    r"(?i)\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|unpkg\.com|jsdelivr\.net|cdnjs\.cloudflare\.com"
    r"|esm\.sh|googleapis\.com|cdn\.plot\.ly)\b|--(?:extra-)?index-url|--find-links"
)
ITEM_KINDS = {"system", "tools", "text", "thinking", "tool_call", "tool_result", "summary", "image", "injected"}


def documents(repository: Path) -> list[Path]:
    return [*repository.glob("*.md"), *repository.glob("docs/**/*.md"), *repository.glob("templates/**/*.md")]


def browser_files(repository: Path) -> Iterator[Path]:
    for folder in ("templates", "static"):
        for path in sorted((repository / folder).rglob("*")):
            if path.is_file() and "vendor" not in path.parts and path.suffix != ".md":
                yield path


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def literal_values(source: Path, name: str) -> set[str]:
    found = re.search(rf"^{name} = Literal\[(.*?)\]", source.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"{source.name} has no {name}"
    return set(re.findall(r'"(\w+)"', found[1]))


def url_names(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    for one in patterns:
        if isinstance(one, URLResolver):
            if one.namespace is None:  # the API describes itself
                yield from url_names(one.url_patterns)
        elif one.name:
            yield one.name


def test_paths_named_in_the_docs_exist(repository: Path) -> None:
    missing = [
        f"{page.relative_to(repository)}: {path}"
        for page in documents(repository)
        for path in PATHS.findall(page.read_text(encoding="utf-8"))
        if not (repository / path).exists() and page.name not in {"CHANGELOG.md", "CONTRIBUTING.md"}
    ]

    assert missing == []


def test_links_in_the_docs_lead_somewhere(repository: Path) -> None:
    broken = []
    for page in documents(repository):
        for link in LINKS.findall(page.read_text(encoding="utf-8")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if "://" in link or not target.exists() or not target.is_relative_to(repository):
                broken.append(f"{page.relative_to(repository)}: {link}")
            elif anchor and anchor not in anchors(target):
                broken.append(f"{page.relative_to(repository)}: no heading {link}")

    assert broken == []


def test_every_document_is_reached_from_the_readme(repository: Path) -> None:
    reached: set[Path] = set()
    open_pages = [repository / "README.md"]
    while open_pages:
        page = open_pages.pop()
        reached.add(page)
        for link in LINKS.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            found = sorted(target.glob("*.md")) if target.is_dir() else [target]
            open_pages += [one for one in found if one.suffix == ".md" and one.exists() and one not in reached]

    unreached = {path for path in documents(repository) if path not in reached} - {
        repository / "CHANGELOG.md",
        repository / "static" / "vendor" / "README.md",
    }
    assert unreached == set()


def test_decisions_are_numbered_without_gaps_and_say_the_four_things(repository: Path) -> None:
    pages = sorted((repository / "docs" / "decisions").glob("*.md"))

    assert [int(path.name[:4]) for path in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(page.name[:4])}. "), page.name
        for part in ("**Context.**", "**Choice.**", "**Roads not taken.**", "**How we notice that it was wrong.**"):
            assert part in text, f"{page.name} has no {part}"


def test_every_format_has_its_page(repository: Path) -> None:
    folder = repository / "docs" / "formats"
    index = (folder / "README.md").read_text(encoding="utf-8")
    kept_as = set(re.findall(r"`([a-z-]+)`(?=[^|\n]*\|$)", index, re.MULTILINE))
    named = set()
    for path in (repository / "contextviz" / "sources").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r'^FORMAT = "([a-z-]+)"', text, re.MULTILINE))
        named |= set(re.findall(r'"(openclaw|openclaw-sqlite|pi)"', text))
        for names in re.findall(r"^FORMATS = \((.*)\)$", text, re.MULTILINE):
            named |= set(re.findall(r'"([a-z-]+)"', names))
    linked = set(re.findall(r"\]\(([a-z-]+)\.md\)", index))

    assert kept_as == named
    assert {page.stem for page in folder.glob("*.md")} - {"README"} == linked


def test_every_command_is_documented(repository: Path) -> None:
    page = (repository / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^## ([a-z-]+)$", page, re.MULTILINE))
    offered = set(re.findall(r"^  ([a-z-]+)", USAGE, re.MULTILINE))
    folder = repository / "contextviz" / "cli" / "management" / "commands"
    written = {path.stem.replace("_", "-") for path in folder.glob("[a-z]*.py")}

    assert (offered | written) - sections == set()
    assert sections - offered - written == {"migrate", "setup", "test"}


def test_every_option_of_our_commands_is_documented(repository: Path) -> None:
    page = (repository / "docs" / "cli.md").read_text(encoding="utf-8")
    sources = [*(repository / "contextviz" / "cli").rglob("*.py")]
    internal = {"--parent", "--loglevel", "--hostname"}  # of the worker process that `up` starts
    options = {
        option
        for path in sources
        for option in re.findall(r'add_argument\(\s*"(--[a-z-]+)"', path.read_text(encoding="utf-8"))
    }

    assert {option for option in options - internal if option not in page} == set()


def test_every_page_of_the_web_application_is_listed(repository: Path) -> None:
    page = (repository / "docs" / "pages.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `/[^`]*` \| `([a-z_]+)` \|", page, re.MULTILINE)

    assert len(listed) == len(set(listed))
    assert set(listed) == set(url_names(get_resolver().url_patterns))


def test_the_glossary_has_every_event_and_every_word_of_items(repository: Path) -> None:
    glossary = (repository / "docs" / "glossary.md").read_text(encoding="utf-8")
    events = repository / "contextviz" / "events"
    classes = {
        name
        for path in (*events.glob("*.py"), *events.glob("run/*.py"))
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    kinds = literal_values(events / "message.py", "Kind")
    words = (
        kinds
        | literal_values(events / "snapshot.py", "ItemState")
        | literal_values(events / "snapshot.py", "SnapshotBasis")
        | literal_values(events / "compaction.py", "CompactionKind")
        | literal_values(events / "call.py", "Purpose")
        | literal_values(repository / "contextviz" / "analysis" / "composition" / "categories.py", "Category")
    )

    assert {name for name in classes if f"`{name}`" not in glossary} == set()
    assert {word for word in words if f"`{word}`" not in glossary} == set()
    assert (
        kinds
        == ITEM_KINDS
        == set(re.findall(r"^\| `(\w+)` \|", glossary.split("## Item kinds")[1], re.MULTILINE))
        - (literal_values(events / "snapshot.py", "ItemState") - kinds)
    )


def test_the_glossary_has_the_words_for_bases_losses_and_nodes(repository: Path) -> None:
    glossary = (repository / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    analysis = repository / "contextviz" / "analysis"
    events = repository / "contextviz" / "events"
    words = (
        literal_values(analysis / "composition" / "compose.py", "Basis")
        | literal_values(analysis / "compaction" / "loss.py", "LossState")
        | literal_values(events / "compaction.py", "NodeKind")
        | literal_values(events / "session.py", "FileRole")
        | literal_values(events / "session.py", "GenerationState")
    )
    words |= {"session", "turn", "model call", "message", "block", "compaction", "summary node", "context window"}
    words |= {"token budget", "prefix cache", "handle", "job", "headroom", "fresh tail", "residual", "composition"}

    assert {word for word in words if not re.search(rf"\b{word}\b", glossary)} == set()


def test_nothing_in_templates_and_static_files_comes_from_elsewhere(repository: Path) -> None:
    foreign = []
    for path in browser_files(repository):
        text = path.read_text(encoding="utf-8")
        for name in NAMES_NOT_FETCHED:
            text = text.replace(name, "")
        if ADDRESSES.search(text) or REGISTRIES.search(text):
            foreign.append(str(path.relative_to(repository)))

    assert foreign == []


def test_the_package_names_no_registry(repository: Path) -> None:
    files = [
        *(repository / "contextviz").rglob("*.py"),
        *repository.glob("requirements*.lock"),
        *(
            repository / name
            for name in ("manage.py", "setup.py", "pyproject.toml", "Dockerfile", "docker-compose.yml")
        ),
    ]

    assert [str(path.relative_to(repository)) for path in files if REGISTRIES.search(path.read_text("utf-8"))] == []
