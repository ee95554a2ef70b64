"""A copy as one HTML file that opens offline: no script, no address, nothing fetched; all words escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from contextviz.services.export import shown
from contextviz.services.export.readable import ReadableCopy

# A style in the file itself, since it has to look right without us; the policy forbids everything else.
_STYLE = """\
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:64rem;margin:2rem auto;padding:0 1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
section{border-top:1px solid #8884;padding:.4rem 0}h3{font-size:1rem;margin:.4rem 0}h4{font-size:.85rem;margin:.3rem 0;
font-weight:400;opacity:.75}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.6rem;margin:0}
table{border-collapse:collapse;font-size:.85rem}td,th{padding:.15rem .6rem;
text-align:left;border-bottom:1px solid #8884}
"""


class HtmlCopy(ReadableCopy):
    """For reading and sending on."""

    suffix = "html"

    def begin(self, head: dict[str, Any]) -> Iterator[str]:
        """Head, title and facts."""
        title = escape(head["session"]["title"] or head["session"]["source_id"])
        yield (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>\n{_STYLE}</style></head><body>\n<h1>{title}</h1>\n<dl>\n"
        )
        for name, value in shown.head_facts(head):
            yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n"
        yield f"</dl>\n<p>{escape(shown.NOTE)}</p>\n"

    def title(self, text: str) -> str:
        """A section's heading."""
        return f"<h2>{escape(text)}</h2>\n"

    def entry(self, title: str, parts: list[tuple[str, str]]) -> Iterator[str]:
        """A heading with texts."""
        yield f"<section><h3>{escape(title)}</h3>\n"
        for name, text in parts:
            if name:
                yield f"<h4>{escape(name)}</h4>\n"
            if text:
                # A parser drops the first line break of a <pre>.
                yield f"<pre>\n{escape(text)}</pre>\n"
        yield "</section>\n"

    def head_row(self, cells: tuple[str, ...]) -> str:
        """A table's beginning."""
        return f"<table><thead><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in cells)}</tr></thead><tbody>\n"

    def row(self, cells: list[str]) -> str:
        """A table's row."""
        return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>\n"

    def table_end(self) -> str:
        """A table's end."""
        return "</tbody></table>\n"

    def line(self, text: str) -> str:
        """A line of a list."""
        return f"<p>{escape(text)}</p>\n"

    def end(self) -> Iterator[str]:
        """The end."""
        yield from self._leave()
        yield "</body></html>\n"
