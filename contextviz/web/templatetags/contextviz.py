"""The one library that templates load: numbers, marks, masked secrets, and the pages of the side bar."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import NoReverseMatch, reverse

from contextviz.commands import command
from contextviz.web.templatetags import marks, masked, numbers

register = template.Library()
for part in (marks, masked, numbers):
    register.tags.update(part.register.tags)
    register.filters.update(part.register.filters)

PAGES = (
    ("Library", "library", "library"),
    ("Live", "live", "live"),
    ("Search", "search", "search"),
    ("Topics", "topics", "topics"),
    ("Originals", "originals", "originals"),
    ("Alerts", "alerts", "alerts"),
    ("Jobs", "jobs", "jobs"),
    ("Settings", "settings", "settings"),
    ("Docs", "docs", "help"),
)


@register.simple_tag(takes_context=True)
def site_nav(context: template.Context) -> dict[str, Any]:
    """The pages that exist: home, go, settings (addresses or "") and the items of the side bar; `session`, `newer`
    and `older` on a page of a session.

    `nav_counts` in the context gives counts by URL name; `nav_here` marks the current page where its path does not.
    """
    found = {name: _address(name) for _, name, _ in PAGES}
    counts = context.get("nav_counts") or {}
    request = context.get("request")
    path = getattr(request, "path", "")
    here = context.get("nav_here")
    items = [
        {
            "name": title,
            "url": found[name],
            "icon": mark,
            "count": counts.get(name),
            "current": here == name if here else _is_here(path, found[name], found["library"]),
        }
        for title, name, mark in PAGES
        if found[name]
    ]
    return {
        "home": found["library"] or "/",
        "go": _address("go"),
        "settings": found["settings"],
        "new_alerts": _address("alerts_new"),
        "items": items,
        **_session(request),
    }


register.simple_tag(command)  # {% command "sign-in" %}


@register.simple_tag(takes_context=True)
def session_foot(context: template.Context) -> list[dict[str, Any]]:
    """The foot of a phone on a page with a session's tabs: those of the three with most of it that the session has;
    empty on other pages, and where it would be one. Context is the session page's pane, which is made for a phone."""
    tabs = getattr(context.get("page"), "tabs", None) or context.get("tabs") or ()
    own = {tab.name: tab for tab in tabs}
    if "Session" not in own:
        return []
    places = (("Session", "Transcript", "library", own["Session"].url),
              ("Context", "Context", "grid", f"{own['Session'].url}?pane=context"),
              ("Compactions", "Compactions", "compacting", getattr(own.get("Compactions"), "url", "")))  # fmt: skip
    found = [
        {"name": name, "url": url, "icon": mark, "current": own[key].current}
        for key, name, mark, url in places if key in own
    ]  # fmt: skip
    return found if len(found) > 1 else []


def _session(request: Any) -> dict[str, Any]:
    """The session whose page this is, and the steps to its neighbours, on the same kind of page."""
    match = getattr(request, "resolver_match", None)
    number = match.kwargs.get("session_id") if match is not None else None
    if match is None or number is None:
        return {"session": None, "newer": "", "older": ""}
    query = f"?page={match.url_name}"
    return {
        "session": number,
        "newer": reverse("session_newer", args=[number]) + query,
        "older": reverse("session_older", args=[number]) + query,
    }


def _address(name: str) -> str:
    for candidate in (name, f"web:{name}"):
        try:
            return reverse(candidate)
        except NoReverseMatch:
            continue
    return ""


def _is_here(path: str, url: str, home: str) -> bool:
    return path == url if url == home else path.startswith(url)
