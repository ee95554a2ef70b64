"""The style guide's examples: each component with the data of each of its states. All content is invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from django.template import Context, Template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from contextviz.charts import composition
from contextviz.charts.palette import CATEGORIES
from contextviz.web.markdown import note

LONG = "Make the importer survive a half-written last line without losing what came before it, in every format"
STATUS = "# Status\n\n**Half** done:\n\n- parser\n- `tests`\n"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Example:
    """One state of a component."""

    label: str
    html: SafeString


@dataclass(frozen=True, slots=True)
class Section:
    """One component."""

    title: str
    examples: tuple[Example, ...]


def sections() -> list[Section]:
    """The whole guide, in the order of a page: marks, controls, messages, lists, charts, text."""
    return [
        Section("Numbers and their basis", _shown({
            "reported": '{{ 167790|tokens }} tok {% basis "reported" %}',
            "derived": '{{ 167790|tokens:"compact" }} tok {% basis "derived" %}',
            "estimated": '{{ 12|tokens }} tok {% basis "estimated" %}',
            "unknown": "{{ None|tokens }}", "signed": "{{ 896|signed }} · {{ -134|signed }}",
        })),
        Section("Categories", _shown({
            one.key: f'{{% swatch "{one.key}" %}} {{{{ "{one.key}"|category_name }}}}' for one in CATEGORIES
        })),
        Section("Session states", _shown({
            name: f'{{% state "{name}" %}} {name}' for name in ("running", "waiting", "idle", "error", "compacting")
        })),
        Section("Loss states", _shown({
            name: f'{{% loss "{name}" 12 %}}' for name in ("kept", "variant", "recoverable", "stale", "lost")
        })),
        Section("Sentence support", _shown({str(n): f"{{% support {n} %}}" for n in (3, 2, 1, 0)})),
        Section("Fill meter", _shown({
            "below three quarters": "{% meter 62000 200000 167000 %}", "above": "{% meter 171000 200000 167000 %}",
            "in tokens": '{% meter 62000 200000 167000 "tokens" %}', "window unknown": "{% meter 62000 None None %}",
            "nothing known": "{% meter None None None %}",
        })),
        Section("Buttons, chips, badges", _controls()),
        *(Section(title, _components(name, states)) for title, name, states in _states()),
        Section("Text of agents", _shown({
            "prose": '<div class="prose">{{ html }}</div>', "a masked secret": "{{ secret|masked }}",
            "raw": '<pre class="raw" tabindex="0">{{ text }}</pre>',
            "difference": '<pre class="diff" tabindex="0"><del>- old line</del><ins>+ new line</ins></pre>',
        }, text=STATUS, html=note(STATUS), secret="GH_TOKEN=ghp_" + "a1B2" * 9)),
    ]  # fmt: skip


def figure() -> dict[str, Any]:
    """A small figure for the chart's example."""
    rows = [{"key": "user", "a": 4_000, "b": 6_000}, {"key": "result", "a": 31_000, "b": 9_000}]
    return composition.figure([SimpleNamespace(**row) for row in rows], 120)


def _shown(sources: Mapping[str, str], **values: object) -> tuple[Example, ...]:
    return tuple(
        Example(label, mark_safe(Template("{% load contextviz %}" + source).render(Context(values))))
        for label, source in sources.items()
    )


def _controls() -> tuple[Example, ...]:
    return _shown({
        "primary": '<button class="btn primary">Import</button>', "default": '<button class="btn">Open</button>',
        "small": '<button class="btn small">Retry</button>', "ghost": '<button class="btn ghost">Close</button>',
        "danger": '<button class="btn danger">Delete</button>', "disabled": '<button class="btn" disabled>Keep</button>',
        "busy": '<button class="btn" aria-busy="true">Keep</button>',
        "chip": '<a class="chip" href="#top">Has compactions</a>', "chip, on": '<a class="chip on" href="#top">Claude Code</a>',
        "chip, add": '<a class="chip add" href="#top">Add a filter</a>',
        "segmented": '<nav class="segmented" aria-label="Example"><a href="#top" aria-current="true">By call</a><a href="#top">By time</a></nav>',
        "keys": "<kbd>j</kbd> <kbd>k</kbd>", "play-heads": '<b class="play-head">A</b> <b class="play-head b">B</b>',
    })  # fmt: skip


def _components(name: str, states: Sequence[tuple[str, dict[str, Any]]]) -> tuple[Example, ...]:
    template = f"components/{name}.html"
    return tuple(Example(label, mark_safe(render_to_string(template, values))) for label, values in states)


def _job(state: str, **values: Any) -> SimpleNamespace:
    known: dict[str, Any] = {
        "id": f"example-{state}", "url": "#top", "name": "Import 3 files", "kind": "digest", "state": state, "done": 148,
        "total": 241, "progress_text": "148 of 241 MB, about 2 s left", "outcome": "", "created_at": NOW, "seconds": None,
        "retry_url": "", "cancel_url": "",
    }  # fmt: skip
    return SimpleNamespace(**known | values)


def _compaction(number: int, **values: Any) -> SimpleNamespace:
    known: dict[str, Any] = {
        "id": f"example-c-{number}", "number": number, "url": "#top", "kind": "", "before": 167_000, "after": 27_000,
        "delta": -140_000, "share": -0.838, "facts": "auto · 42 s · 96 items folded", "summary": LONG,
        "losses": [("kept", 40), ("lost", 3)], "needed_later": 1, "ab_url": "", "ab_text": "",
    }  # fmt: skip
    return SimpleNamespace(**known | values)


def _item(number: int, **values: Any) -> SimpleNamespace:
    known: dict[str, Any] = {
        "id": f"example-i-{number}", "order": str(number), "category": "user", "name": LONG, "why": "sent as it is",
        "tokens": 412, "url": "", "change": "", "loss": "",
    }  # fmt: skip
    return SimpleNamespace(**known | values)


def _session(title: str, state: str, used: int | None, window: int | None, count: int) -> SimpleNamespace:
    return SimpleNamespace(
        url="#top", title=title, state=state, used=used, window=window, threshold=None, compactions=count
    )


def _states() -> list[tuple[str, str, list[tuple[str, dict[str, Any]]]]]:
    """Title, template and states of each component that is a template."""
    url = reverse("styleguide_figure")
    tabs = [
        SimpleNamespace(name=name, url="#top", count=count, current=not count)
        for name, count in (("Session", None), ("Compactions", 3))
    ]
    rows = [
        SimpleNamespace(key="user", a=4_000, b=6_000, change=2_000),
        SimpleNamespace(key="error", a=0, b=0, change=0),
    ]
    totals = {"residual_a": -12, "residual_b": 96, "total_a": 3_988, "total_b": 6_096, "total_change": 2_108}
    spark = SimpleNamespace(area="M0 24V12L50 4L100 18V24Z", line="M0 12L50 4L100 18", limit=3, marks=[60])
    return [
        ("Tabs", "tabs", [("tabs", {"tabs": tabs, "label": "Example tabs"})]),
        ("Notices", "notice", [(kind, {"kind": kind, "text": f"{LONG}."}) for kind in ("info", "success", "warning", "error")]),
        ("Empty states", "empty", [
            ("cannot report", {"text": "This source cannot report what a call was given."}),
            ("did not", {"title": "No compaction", "text": "The transcript records none.", "url": "#top", "action": "Open it"}),
        ]),
        ("Retrieval badges", "badge", [(state, {"state": state}) for state in ("verified", "mismatch", "missing", "redacted")]),
        ("Progress", "progress", [
            ("share known", {"value": 148, "total": 241, "text": "148 of 241 MB", "label": "Import"}),
            ("share unknown", {"value": 0, "total": None, "text": "counting", "label": "Count"}),
        ]),
        ("Jobs", "job_row", [
            ("queued", {"job": _job("queued")}), ("running", {"job": _job("running", cancel_url="#top")}),
            ("done", {"job": _job("done", outcome="3 sessions read.", seconds=12.4)}),
            ("failed", {"job": _job("failed", outcome="The file ends in the middle of a line.", retry_url="#top")}),
            ("cancelled", {"job": _job("cancelled")}),
        ]),
        ("Compactions", "compaction_row", [
            ("summary", {"row": _compaction(1)}), ("trim", {"row": _compaction(2, kind="trim", summary="")}),
            ("failed", {"row": _compaction(3, kind="failed", after=None, delta=None, share=None)}),
            ("sizes unknown", {"row": _compaction(4, before=None, after=None, delta=None, share=None, losses=[])}),
        ]),
        ("Items of a window", "item", [
            ("kept", {"item": _item(1)}), ("new in B", {"item": _item(2, order="+2", change="new")}),
            ("gone", {"item": _item(3, order="−", change="gone", loss="lost")}), ("chosen", {"item": _item(4), "current": True}),
            ("size unknown", {"item": _item(5, tokens=None, category="stub")}),
        ]),
        ("Composition", "composition", [
            ("A and B", {"rows": rows, "basis_a": "reported", "basis_b": "reported", **totals}),
            ("one column, total unknown", {"rows": rows, "basis_b": "estimated", "one_column": True, "total_b": None}),
        ]),
        ("Recent sessions", "recent", [("rows", {"sessions": [
            _session(LONG, "running", 171_000, 200_000, 3), _session("Window unknown", "idle", 900, None, 0),
            _session("Nothing known", "error", None, None, 0),
        ]})]),
        ("Pager", "pager", [("in the middle", {"shown": 50, "total": 812, "noun": "sessions", "previous": "#top", "next": "#top"})]),
        ("Sparkline", "sparkline", [("fill by call", {"spark": spark, "label": "Window fill by call, one compaction"})]),
        ("Copy", "copy", [("button", {"text": "sha256", "label": "Copy the hash"})]),
        ("Chart", "chart", [
            ("with its table", {"src": url, "height": 160, "summary": "Two categories, before and after",
                                "columns": ["Category", "A"], "rows": [["User", "4,000"]]}),
            ("failed", {"src": "/styleguide/none.json", "height": 160, "summary": "A chart whose figure is not there"}),
        ]),
    ]  # fmt: skip
