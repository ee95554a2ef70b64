"""The token budget of a session: the page and its figures."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from contextviz.analysis.budget import BudgetTable
from contextviz.analysis.strip import reduce
from contextviz.charts import budget, budget_calls
from contextviz.events.masking import without_secrets
from contextviz.services import figures
from contextviz.services.budget import tables
from contextviz.services.budget.prices import window_here
from contextviz.web.access import session_read, session_write
from contextviz.web.answers import see_other
from contextviz.web.pages.budget.page import budget_page, parse
from contextviz.web.pages.links import call_url


@require_safe
def show_budget(request: HttpRequest, session_id: int) -> HttpResponse:
    """The page."""
    row = session_read(request, session_id)
    page = budget_page(row, tables.budget_here(session_id, messages=row.message_count), parse(request.GET.dict()))
    return render(request, "budget/page.html", {"page": page})


@require_POST
def compute(request: HttpRequest, session_id: int) -> HttpResponse:
    """Compute the budget of a session that an earlier version saved, then show it."""
    session_write(request, session_id)
    tables.compute_budget(session_id)
    return see_other(reverse("budget", args=[session_id]))


@require_safe
def treemap_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """Where the tokens went (parameters view, of): at most 500 nodes."""
    session_read(request, session_id)
    params, table = parse(request.GET.dict()), _table(session_id)
    residual = table.now_residual if params.measure == "now" else table.carry_residual
    groups = [
        replace(group, tool=without_secrets(group.tool), target=without_secrets(group.target)) for group in table.groups
    ]
    return JsonResponse(budget.treemap(groups, params.view, params.measure, residual))


@require_safe
def calls_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """Composition over the calls of the main chain (parameter chart), at most 1,400 points."""
    row = session_read(request, session_id)
    table = reduce(figures.strip_of(session_id))
    if row.window_basis == "table" or all(window is None for window in table.window):
        largest = max((tokens or 0 for tokens in table.reported), default=0)
        table.window = [window_here(row.model, largest_prompt=largest)] * len(table.calls)
    return JsonResponse(budget_calls.composition(table, parse(request.GET.dict()).mode))


@require_safe
def prefix_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """The stable prefix share by call, on the margins of the chart over calls."""
    session_read(request, session_id)
    strip = reduce(figures.strip_of(session_id))
    figure = budget_calls.prefix(_table(session_id).prefix, strip, lambda call: call_url(session_id, call))
    return JsonResponse(figure)


def _table(session_id: int) -> BudgetTable:
    return tables.budget_of(session_id) or BudgetTable()


urlpatterns = [
    path("sessions/<int:session_id>/budget/", show_budget, name="budget"),
    path("sessions/<int:session_id>/budget/compute/", compute, name="budget_compute"),
    path("sessions/<int:session_id>/figures/budget-treemap.json", treemap_figure, name="budget_treemap"),
    path("sessions/<int:session_id>/figures/budget-calls.json", calls_figure, name="budget_calls"),
    path("sessions/<int:session_id>/figures/budget-prefix.json", prefix_figure, name="budget_prefix"),
]
