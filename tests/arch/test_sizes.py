"""The house's measures, held by reading the source with `ast`: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent / "contextviz"
LONGEST_FILE, LONGEST_FUNCTION, USUAL_FUNCTION = 400, 60, 40
MOST_MODULES = 14
Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "migrations" not in path.parts]


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}", node


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_longer_than_400_lines() -> None:
    lines = {str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}

    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    found = {name: length(node) for path in sources() for name, node in functions(path)}

    assert {name: count for name, count in found.items() if count > LONGEST_FUNCTION} == {}


def test_few_functions_are_longer_than_40_lines() -> None:
    lengths = [length(node) for path in sources() for _, node in functions(path)]

    assert sum(count > USUAL_FUNCTION for count in lengths) <= 0.05 * len(lengths)


def test_no_function_imports() -> None:
    hidden = [
        name
        for path in sources()
        for name, node in functions(path)
        if any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(node))
    ]

    assert hidden == []


def test_packages_stay_small() -> None:
    # A command is a file where Django looks for commands, and nowhere else.
    folders = {path.parent for path in sources()} - {PACKAGE / "cli" / "management" / "commands"}
    counts = {
        str(folder.relative_to(PACKAGE)): sum(1 for path in folder.glob("*.py") if path.name != "__init__.py")
        for folder in folders
    }

    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}


def test_every_file_with_code_postpones_annotations() -> None:
    without = []
    for path in sources():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if body and isinstance(body[0], ast.Expr):
            body = body[1:]  # the docstring
        if body and not (isinstance(body[0], ast.ImportFrom) and body[0].module == "__future__"):
            without.append(str(path.relative_to(PACKAGE)))

    assert without == []
