"""The design system: tokens, files, components and filters hold what the pages rely on."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils import timezone

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "static"
TEMPLATES = ROOT / "templates"
CSS = sorted((STATIC / "css").rglob("*.css"))
SCRIPTS = sorted((STATIC / "js").rglob("*.js"))
PAGES = sorted(TEMPLATES.rglob("*.html"))


def show(source: str, **values: object) -> str:
    return Template("{% load contextviz %}" + source).render(Context(values)).replace("\u00a0", " ")


# ---- files -----------------------------------------------------------------------------------------------------------
def test_vendored_files_are_the_ones_whose_hashes_are_written_down():
    lines = [line.split() for line in (STATIC / "vendor" / "SHA256SUMS").read_text().splitlines()]
    held = {name: hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() for _, name in lines}
    assert held == {name: digest for digest, name in lines}
    assert "plotly-contextviz.min.js" in held


def test_the_vendored_bundle_names_no_address_but_xml_namespaces():
    text = (STATIC / "vendor" / "plotly-contextviz.min.js").read_text(encoding="utf-8")
    found = set(re.findall(r"https?://[A-Za-z0-9][^\"'`\s)]*", text))
    assert {address for address in found if not address.startswith("http://www.w3.org/")} == set()


def test_nothing_is_loaded_from_another_host():
    held = {
        str(path.relative_to(ROOT)): re.findall(r"(?:src|href|url)\W{1,3}(?:https?:)?//\S+", path.read_text())
        for path in [*CSS, *SCRIPTS, *PAGES]
    }
    assert {name: found for name, found in held.items() if found} == {}


def test_colour_values_stand_in_the_token_file_only():
    value = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![\w-])|\b(?:rgb|hsl|oklch)a?\((?!0 0 0 /)")
    held = {
        path.name: value.findall(re.sub(r"url\([^)]*\)", "", path.read_text()))
        for path in CSS
        if path.name != "tokens.css"
    }
    assert {name: found for name, found in held.items() if found} == {}


def test_style_sheets_are_small_and_all_imported():
    assert {path.name: count for path in CSS if (count := len(path.read_text().splitlines())) > 150} == {}
    imported = set(re.findall(r'url\("([^"]+)"\)', (STATIC / "css" / "app.css").read_text()))
    assert imported == {str(path.relative_to(STATIC / "css")) for path in CSS} - {"app.css"}


def test_every_variable_a_style_sheet_uses_is_defined():
    text = "\n".join(path.read_text() for path in CSS)
    used = set(re.findall(r"var\(--([\w-]+)\)", text))
    assert used - set(re.findall(r"--([\w-]+):", text)) == set()


def test_braces_of_every_style_sheet_match():
    assert [path.name for path in CSS if path.read_text().count("{") != path.read_text().count("}")] == []


def test_templates_hold_no_script_of_their_own_and_no_event_handlers():
    bad = re.compile(r"<script(?![^>]*\bsrc=)|<[^>{]*\son[a-z]+=|javascript:|<style\b")
    assert [str(path) for path in PAGES if bad.search(path.read_text())] == []


def test_every_icon_that_a_component_names_is_in_the_sprite():
    known = set(re.findall(r'<symbol id="([\w-]+)"', (STATIC / "icons.svg").read_text()))
    used = {name for path in PAGES for name in re.findall(r'{% icon "([\w-]+)"', path.read_text())}
    assert used - known == set()
    assert {f"loss-{name}" for name in ("kept", "variant", "recoverable", "stale", "lost")} <= known


def test_scripts_stay_within_their_budget():
    sizes = {path.name: len(path.read_text().splitlines()) for path in SCRIPTS}
    assert sum(sizes.values()) <= 2350
    assert {name: count for name, count in sizes.items() if count > 200} == {}
    assert all("eval(" not in path.read_text() for path in SCRIPTS)


# ---- filters and tags ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "use", ["tokens", "signed", "percent", "bytes", "duration", "money", "when", "dash", 'tokens:"compact"']
)
def test_unknown_is_a_dash_that_readers_hear_as_unknown(use):
    assert show("{{ v|" + use + " }}", v=None) == '<span class="unknown" role="img" aria-label="unknown">—</span>'
    assert "unknown" in show("{{ missing|" + use + " }}")


def test_zero_is_zero():
    assert show("{{ v|tokens }} {{ v|dash }} {{ v|percent }} {{ v|signed }}", v=0) == "0 0 0.0 % 0"


def test_numbers_are_spelled_one_way():
    assert (
        show('{{ v|tokens }} {{ v|tokens:"compact" }} {{ w|signed }} {{ s|percent:0 }}', v=167_790, w=-134, s=0.839)
        == "167,790 167.8 k −134 84 %"
    )
    assert show("{{ b|bytes }} {{ d|duration }} {{ m|money }}", b=369_000, d=362, m=18.42) == "369 KB 6 min 2 s $18.42"


def test_a_time_is_a_time_element_and_text_that_is_none_stays_text():
    moment = datetime(2026, 11, 30, 2, 50, 7, tzinfo=UTC)
    assert (
        show("{{ v|when }}", v=moment)
        == '<time datetime="2026-11-30T02:50:07+00:00" title="2026-11-30 02:50:07 UTC">30 Nov 2026 02:50</time>'
    )
    assert ">02:50:07<" in show('{{ v|when:"seconds" }}', v="2026-11-30T02:50:07Z")
    assert ">30 Sep 2019 02:50:07<" in show('{{ v|when:"feed" }}', v="2019-09-30T02:50:07Z")
    now = timezone.localtime(timezone.now())
    assert f">{now:%H:%M:%S}<" in show('{{ v|when:"feed" }}', v=now)
    assert show("{{ v|when }}", v="<soon>") == "&lt;soon&gt;"


def test_a_meter_shows_the_own_threshold_and_turns_to_ink_from_three_quarters():
    html = show("{% meter 160000 200000 167000 %}")
    assert 'class="meter high"' in html
    assert "left:83.5%" in html
    assert "compacts at 167,000" in html
    assert "high" not in show("{% meter 20000 200000 %}")
    assert "<b>14.9</b> / 22.8<" in show('{% meter 14855 22800 None "tokens" %}')


def test_a_meter_without_a_window_draws_no_bar_and_says_so():
    html = show("{% meter 160000 None %}")
    assert "window not reported" in html
    assert "meter" not in html


def test_marks_always_carry_words():
    assert 'aria-label="derived"' in show('{% basis "derived" %}')
    assert 'aria-label="unknown"' in show("{% basis None %}")
    assert 'aria-label="waiting for the user"' in show('{% state "waiting" %}')
    assert "150 lost" in show('{% loss "lost" 150 %}')
    assert "3 compactions" in show("{% compactions 3 %}")
    assert show("{% compactions 0 %}") == ""
    assert show('{% compactions 0 "0" %}') == "0"
    assert 'aria-label="no support found"' in show("{% support 0 %}")


def test_a_category_has_a_shape_beside_its_colour():
    assert 'class="swatch diamond c-summary"' in show('{% swatch "summary" %}')
    assert 'class="swatch square c-system"' in show("{% swatch key %}", key='"><script>')


def test_the_stack_bar_names_its_parts():
    html = show("{% stack_bar parts 100 %}", parts={"user": 25, "error": 0, "call": None})
    assert "width:25.00%" in html
    assert 'aria-label="User 25"' in html


def test_the_stack_bar_ends_at_the_report_and_hatches_what_hangs_over_it():
    parts = {"user": 25, "result": 60, "error": 0}
    over = show("{% stack_bar parts 100 75 %}", parts=parts)
    assert '<span class="within" style="width:75.00%">' in over
    assert '<span class="beyond" style="width:10.00%"><i class="c-result over" style="flex-grow:10"' in over
    assert 'aria-label="User 25, Tool results 60, residual −10, reported 75"' in over
    below = show("{% stack_bar parts 100 95 %}", parts=parts)
    assert '<span class="within" style="width:95.00%">' in below
    assert 'title="Residual, +10"' in below and "beyond" not in below
    assert show("{% stack_bar parts 0 %}", parts={"user": None}).count("<i") == 0


def test_a_secret_is_not_in_the_page_and_everything_is_escaped():
    token = "ghp_" + "a1B2" * 9
    html = show("{{ text|masked }}", text=f"<b>export</b> GH={token} & more")
    assert "<b>" not in html
    assert token not in html
    assert html.count('<span class="secret">api key, 40 characters masked</span>') == 1
    assert html.endswith("&amp; more")
    assert show("{{ text|masked }}", text=None) == ""


# ---- components ------------------------------------------------------------------------------------------------------
HOSTILE = '"><img src=x onerror=alert(1)>'
JOB = SimpleNamespace(
    id=1,
    url="/j/",
    name=HOSTILE,
    kind="import",
    state="failed",
    outcome=HOSTILE,
    created_at=None,
    seconds=None,
    retry_url="/r/",
    cancel_url="",
    done=0,
    total=None,
    progress_text="",
)
ROW = SimpleNamespace(
    id="c-1",
    number=1,
    url="/c/",
    kind="summary",
    before=None,
    after=10,
    delta=None,
    share=None,
    facts=HOSTILE,
    summary=HOSTILE,
    losses=[("lost", 1)],
    needed_later=1,
)
ITEM = SimpleNamespace(
    id="i-1", order="+1", category="user", name=HOSTILE, why=HOSTILE, tokens=None, url="", change="new", loss=""
)
COMPONENTS = {
    "tabs": {"tabs": [SimpleNamespace(name=HOSTILE, url="/", count=None, current=True)]},
    "bottom_tabs": {"tabs": [SimpleNamespace(name=HOSTILE, url="/", icon="grid", current=False)]},
    "notice": {"kind": "error", "text": HOSTILE},
    "empty": {"title": HOSTILE, "text": HOSTILE},
    "pager": {"shown": 1, "total": None, "noun": HOSTILE, "next": "?after=1"},
    "chart": {"src": "/f/", "summary": HOSTILE, "columns": [HOSTILE], "rows": [[HOSTILE, 1]]},
    "strip": {"src": "/f/", "calls": 3, "a": None, "b": 2, "summary": HOSTILE, "text": HOSTILE, "compactions": [2]},
    "composition": {"rows": [SimpleNamespace(key="user", a=1, b=None, change=None)], "residual_a": None},
    "badge": {"state": "mismatch"},
    "progress": {"text": HOSTILE, "value": 1, "total": 2},
    "job_row": {"job": JOB},
    "compaction_row": {"row": ROW},
    "item": {"item": ITEM},
    "upload": {"action": "/up/", "csrf": "x", "demo_url": "/demo/", "form": "zone"},
    "copy": {"text": HOSTILE},
    "recent": {
        "sessions": [
            SimpleNamespace(
                url="/s/", title=HOSTILE, state="idle", used=None, window=None, threshold=None, compactions=None
            )
        ]
    },
    "nav": {"items": [], "label": "Main"},
    "sparkline": {"spark": SimpleNamespace(area="M0 0", line="M0 0", limit=None, marks=[1]), "label": HOSTILE},
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_renders_hostile_text_as_text(name):
    html = render_to_string(f"components/{name}.html", COMPONENTS[name])
    assert "<img" not in html
    assert html.count("<div") == html.count("</div>")


def test_unknown_tokens_of_a_compaction_are_not_zero():
    assert "— → 10 tok" in re.sub(
        r"<[^>]+>", "", render_to_string("components/compaction_row.html", {"row": ROW})
    ).replace("\u00a0", " ")


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_error_pages_need_no_database_and_say_what_next(status):
    html = render_to_string(
        "500.html" if status == 500 else "error.html", {"status": status, "sentence": "What went wrong."}
    )
    assert html.count("<h1>") == 1
    assert "Open the library" in html


def test_the_shell_has_its_landmarks_once():
    html = render_to_string("base.html", {"recent_sessions": [], "theme": "dark"})
    for part in ("<main", 'id="notices"', 'class="skip"', "<footer", "<aside", '<dialog id="help"'):
        assert html.count(part) == 1, part
    assert 'data-theme="dark"' in html
    assert '"allowEval":false' in html
    assert "None yet" in html
