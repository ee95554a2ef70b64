"""The demo in a real browser: its addresses, the accessibility checker, a person's keyboard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.urls import reverse

from contextviz.services import replay
from contextviz.services.access import local_owner
from contextviz.services.alerts import save_rule
from contextviz.services.demo.loading import open_demo
from contextviz.services.ingest import digest
from contextviz.services.retrieve import open_retrieve, retrieve_original
from contextviz.store.queries import jobs, messages, sessions, summaries
from contextviz.store.values import SessionRow
from tests.live.growing import three_sessions
from tests.services.building import NOW

AXE = Path(__file__).resolve().parent.parent / "assets" / "axe.min.js"


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's sessions by format."""

    rows: dict[str, SessionRow]

    @property
    def talk(self) -> SessionRow:
        """The Claude Code session: calls, compactions, a budget."""
        return self.rows["claude-code"]


def load_demo() -> Demo:
    """The demo as a person loads it, read to its end."""
    assert digest(open_demo(now=NOW))
    return Demo({row.format: row for row in sessions.recent_sessions(50)})


def main_addresses(demo: Demo) -> dict[str, str]:
    """The pages that are looked at most, by name."""
    return {
        "library": reverse("library"),
        "session": f"{reverse('session', args=[demo.talk.id])}?after=-1",
        "compaction": reverse("compaction", args=[demo.talk.id, 1]),
    }


def addresses(demo: Demo) -> dict[str, str]:
    """One address of every kind of page, by the page's name, with something to show."""
    talk, store, topics = demo.talk, demo.rows["lossless-claw"], demo.rows["conversation-map"]
    first = messages.messages(talk.id, limit=1).messages[0]
    asked = open_retrieve(first.blocks[0].text.sha256, now=NOW)
    assert retrieve_original(asked)
    node = summaries.nodes(store.id)[0]
    rule, _ = save_rule(name="Nearly full", kind="fill_above", params={}, webhook="", person_id=None, now=NOW)
    three_sessions()
    kept, _ = replays(talk.id)
    lab = f"{reverse('lab', args=[talk.id])}?call=20"
    return {
        **main_addresses(demo),
        "live": reverse("live"),
        "sub-agents": reverse("session", args=[demo.rows["openclaw"].id]),
        "message": reverse("message", args=[talk.id, 0]),
        "problems": reverse("problems", args=[talk.id]),
        "call": f"{reverse('call', args=[talk.id, talk.call_count])}?a=1",
        "item": reverse("item", args=[talk.id, 0]),
        "compactions": reverse("compactions", args=[talk.id]),
        "graph": reverse("graph", args=[store.id]),
        "node": f"{reverse('graph', args=[store.id])}?node={node.id}",
        "budget": reverse("budget", args=[talk.id]),
        "lab": reverse("lab", args=[store.id]),
        **{f"lab, {view}": f"{lab}&view={view}" for view in ("lists", "composition", "graphs", "what-if")},
        "lab, a boundary": f"{lab}&boundary=2.1",
        "lab, a form": f"{lab}&engine=flowctx",
        "lab, an item": reverse("lab_item", args=[talk.id, kept, 1, 1]),
        "delete": reverse("session_delete", args=[talk.id]),
        "search": f"{reverse('search')}?q=test",
        "search, nothing": f"{reverse('search')}?q=zzzyyyxxx",
        "topics": reverse("topics"),
        "topic map": reverse("topic_map", args=[topics.id]),
        "originals": reverse("originals"),
        "original": f"{reverse('originals')}?job={asked}",
        "jobs": reverse("jobs"),
        "job": reverse("job", args=[jobs.jobs().items[0].id]),
        "export": reverse("export", args=[talk.id]),
        "settings": reverse("settings"),
        "accounts": reverse("accounts"),
        "account": reverse("account", args=[local_owner().pk]),
        "password": reverse("password"),
        "audit": reverse("audit"),
        "retention": reverse("retention"),
        "not kept": reverse("not_kept"),
        "keys": reverse("api_keys"),
        "prices": reverse("prices"),
        "go": f"{reverse('go')}?q=call",
        "if now": reverse("if_now", args=[talk.id]),
        "alerts": reverse("alerts"),
        "alert rule": reverse("alert_rule", args=[rule.id]),
        "alert, removed": reverse("alert_remove", args=[rule.id]),
        "coverage": reverse("coverage"),
        "docs": reverse("docs_page", args=["cli"]),
        "formats": reverse("docs_page", args=["formats"]),
        "not found": "/sessions/999999/",
    }


def replays(session_id: int) -> tuple[str, ...]:
    """Replays of a session by two engines that drop things, done at once; the keys that the Lab's addresses have."""
    keys = []
    for engine in ("keep-tail", "flowctx"):
        started = replay.start_run(session_id, engine, measure=replay.Measure(window=60_000), now=NOW)
        assert started.job_id is None or not started.is_new or replay.execute_run(started.job_id)
        keys.append(started.run_id.hex[-8:])
    return tuple(keys)


class Checker:
    """axe-core in a page, past the page's own content policy."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.cdp = page.context.new_cdp_session(page)

    def findings(self, *, only: tuple[str, ...] = ()) -> list[str]:
        """What it holds against the page as it is now: rule, how grave, and the first elements. `only` names rules,
        for a page that all of them have been asked about."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.cdp.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        options = {"resultTypes": ["violations"], "preload": False, **({"runOnly": only} if only else {})}
        answer = self.cdp.send(
            "Runtime.evaluate",
            {"expression": f"axe.run(document, {json.dumps(options)})", "awaitPromise": True, "returnByValue": True},
        )
        assert "exceptionDetails" not in answer, answer
        return [
            f"{one['id']} ({one['impact']}): "
            + "; ".join(f"{' '.join(node['target'])} {_why(node)}" for node in one["nodes"][:3])
            + f" [{len(one['nodes'])}]"
            for one in answer["result"]["value"]["violations"]
        ]


def _why(node: dict[str, Any]) -> str:
    return " ".join(check["message"] for check in [*node["any"], *node["all"], *node["none"]][:1])[:160]


def wait_drawn(page: Any) -> None:
    """Until charts are drawn and the page's scripts have set it up."""
    page.wait_for_load_state("load")
    page.wait_for_function(
        "() => [...document.querySelectorAll('cv-strip[aria-busy], cv-lab[aria-busy], cv-chart[aria-busy]')]"
        ".every((one) => one.getBoundingClientRect().top > innerHeight)"  # a chart far below is drawn when it is seen
    )
