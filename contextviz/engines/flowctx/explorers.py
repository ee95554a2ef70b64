"""Descriptions of JSON, CSV, TSV, XML, YAML and code that stand for their texts (section 3.4).

The port reaches those of JSON and code alone: its detector never names the other types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from contextviz.events.javascript import S, keys, length16, parse, slice16, thousands, trim

_LINES = re.compile(r"\r?\n")
_SPACES = re.compile(f"{S}+")
_NOT_S = "[^" + S[1:]
_IMPORT = re.compile(
    rf"{S}*(?:import{S}+|from{S}+{_NOT_S}+{S}+import{S}+|const{S}+\w+{S}*={S}*require\()", re.ASCII
)  # fmt: skip
_DEFINITION = re.compile(
    rf"(?:export{S}+)?(?:async{S}+)?"
    rf"(?:function|class|interface|type|const{S}+\w+{S}*={S}*\(|def{S}+\w+\(|struct{S}+\w+)",
    re.ASCII,
)
_TAG = re.compile(f"<([A-Za-z0-9_:-]+)(?:{S}|>)")
_YAML_KEY = re.compile(rf"([A-Za-z0-9_.-]+):{S}*(?:#[^\n\r\u2028\u2029]*)?\Z")
_EXTENSION = re.compile(r"[a-z0-9]{1,10}")


def explore_json(text: str) -> str:
    """The shape of a JSON text in three lines; raises ValueError where it is none."""
    value = parse(text)
    top = "array" if isinstance(value, list) else _type_of(value)
    return f"Structured summary (JSON):\nTop-level type: {top}.\nShape: {_shape(value, 0)}."


def _shape(value: Any, depth: int) -> str:
    if depth >= 2:
        return "..."
    if isinstance(value, list):
        sample = ", ".join(_shape(item, depth + 1) for item in value[:3])
        return f"array(len={len(value)}{f', sample=[{sample}]' if value else ''})"
    if not isinstance(value, dict):
        return _type_of(value)
    preview = ", ".join(keys(value)[:10])
    return f"object(keys={len(value)}{f': {preview}' if preview else ''})"


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "number" if isinstance(value, int | float) else "object"


def explore_delimited(text: str, delimiter: str, kind: str) -> str:
    """Rows, columns and a sample of CSV or TSV."""
    lines = [bare for line in _LINES.split(text) if (bare := trim(line))]
    if not lines:
        return f"Structured summary ({kind}): no rows found."
    names = [name for cell in lines[0].split(delimiter) if (name := trim(cell))]
    sample = one_line(lines[1], 180) if len(lines) > 1 else "(no data rows)"
    return (
        f"Structured summary ({kind}):\nRows: {thousands(len(lines) - 1)}.\n"
        f"Columns ({len(names)}): {', '.join(names) or '(none detected)'}.\nFirst row sample: {sample}."
    )


def explore_xml(text: str) -> str:
    """The root and the elements seen in an XML text."""
    tags = _TAG.findall(text)
    root = tags[0] if tags else "unknown"
    others = _once([tag for tag in tags if tag != root][:30])
    return (
        f"Structured summary (XML):\nRoot element: {root}.\n"
        f"Child elements seen: {', '.join(others) or '(none detected)'}."
    )


def explore_yaml(text: str) -> str:
    """The top-level keys of a YAML text that hold more than a scalar."""
    found = _once(match[1] for line in _LINES.split(text) if (match := _YAML_KEY.match(line)))
    return f"Structured summary (YAML):\nTop-level keys ({len(found)}): {', '.join(found[:30]) or '(none detected)'}."


def explore_code(text: str, name: str | None = None) -> str:
    """Lines, imports and definitions of a source text; the first are taken before doubles are."""
    lines = _LINES.split(text)
    imports = _once(one_line(line, 180) for line in [line for line in lines if _IMPORT.match(line)][:12])
    bare = (trim(line) for line in lines)
    defined = _once(one_line(line, 200) for line in [line for line in bare if _DEFINITION.match(line)][:24])
    return (
        f"Code exploration summary{f' ({name})' if name else ''}:\nLines: {thousands(len(lines))}.\n"
        f"Imports/dependencies ({len(imports)}): {' | '.join(imports) or 'none detected'}.\n"
        f"Top-level definitions ({len(defined)}): {' | '.join(defined) or 'none detected'}."
    )


def explore(text: str, mime: str | None = None, file_name: str | None = None) -> str:
    """The description that fits the name's extension or the media type; sizes alone where none does."""
    extension = _extension_of(file_name)
    kind = trim(mime or "").lower()
    if extension == "json" or kind.startswith("application/json"):
        try:
            return explore_json(text)
        except ValueError:
            return "Structured summary (JSON): failed to parse as valid JSON."
    if extension == "csv" or kind.startswith("text/csv"):
        return explore_delimited(text, ",", "CSV")
    if extension == "tsv" or kind.startswith("text/tab-separated-values"):
        return explore_delimited(text, "\t", "TSV")
    if extension == "xml" or kind.startswith(("text/xml", "application/xml")):
        return explore_xml(text)
    if extension in ("yaml", "yml") or "yaml" in kind:
        return explore_yaml(text)
    lines = len(_LINES.split(text))
    return f"Structured summary:\nCharacters: {thousands(length16(text))}.\nLines: {thousands(lines)}."


def _extension_of(file_name: str | None) -> str:
    base = re.split(r"[\\/]", trim(file_name or ""))[-1]
    place = base.rfind(".")
    if place <= 0:
        return ""
    extension = base[place + 1 :].lower()
    return extension if _EXTENSION.fullmatch(extension) else ""


def one_line(text: str, most: int) -> str:
    """White space as single blanks, cut at `most` units with three dots behind."""
    compact = trim(_SPACES.sub(" ", text))
    return compact if length16(compact) <= most else slice16(compact, 0, most) + "..."


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
