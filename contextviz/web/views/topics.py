"""Conversation maps: topics in lanes on one clock."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe

from contextviz.charts import topics as charts
from contextviz.store.queries import sessions, topics
from contextviz.store.values import NotFound, SessionRow
from contextviz.web.access import session_read
from contextviz.web.htmx import page_or_fragment
from contextviz.web.pages.topics.page import figure_table, topic_map_page, topics_page


@require_safe
def list_topics(request: HttpRequest) -> HttpResponse:
    """The maps; where there is only one, that one."""
    found = topics.sessions_with_topics()
    if len(found) == 1:
        return _show(request, session_read(request, found[0]))
    place = {number: at for at, number in enumerate(found)}
    rows = sorted(sessions.find_sessions(found), key=lambda row: place[row.id])
    return render(request, "topics/list.html", {"page": topics_page(rows)})


@require_safe
def show_topic_map(request: HttpRequest, session_id: int) -> HttpResponse:
    """One map."""
    return _show(request, _with_topics(request, session_id))


@require_safe
def topic_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """The lanes as a figure."""
    row = _with_topics(request, session_id)
    figure = charts.figure(figure_table(topics.topics(row.id), topics.topic_events(row.id)))
    return JsonResponse(figure)


@require_safe
def session_topics(request: HttpRequest, session_id: int) -> HttpResponse:
    """The map of a session, under the session's own address."""
    return redirect("topic_map", _with_topics(request, session_id).id)


def _with_topics(request: HttpRequest, session_id: int) -> SessionRow:
    row = session_read(request, session_id)
    if not row.topic_count:
        raise NotFound(f"Session {session_id} has no conversation map. Import conversation-map.json to see its topics.")
    return row


def _show(request: HttpRequest, row: SessionRow) -> HttpResponse:
    page = topic_map_page(
        row,
        topics.topics(row.id),
        topics.topic_events(row.id),
        chosen=request.GET.get("topic", ""),
        now=timezone.now(),
        hints=sessions.session_detail(row.id, with_lists=False).session.hints,
    )
    status = 404 if page.missing_topic else 200
    return page_or_fragment(request, "topics/map.html", "topics/_pane.html", {"page": page}, status=status)


urlpatterns = [
    path("topics/", list_topics, name="topics"),
    path("topics/<int:session_id>/", show_topic_map, name="topic_map"),
    path("topics/<int:session_id>/figure.json", topic_figure, name="topic_figure"),
    path("sessions/<int:session_id>/topics/", session_topics, name="session_topics"),
]
