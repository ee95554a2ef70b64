"""Settings: what tokens cost and how large windows are, where the shipped tables do not know or are wrong."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from contextviz.services.budget import prices as own
from contextviz.services.budget.costs import refresh_costs
from contextviz.tokens.prices import PARTS, BadPrice
from contextviz.web.answers import see_other
from contextviz.web.pages.prices import Typed, prices_page


@require_http_methods(["GET", "HEAD", "POST"])
def prices(request: HttpRequest) -> HttpResponse:
    """The page; a POST (`action` price, window, remove_price, remove_window; `pattern`) keeps or removes one, 422 with
    a sentence where it cannot be kept."""
    if request.method != "POST":
        return render(request, "settings/prices.html", {"page": prices_page(Typed())})
    action, typed = request.POST.get("action", ""), request.POST.dict()
    try:
        messages.success(request, _done(action, typed))
    except BadPrice as error:
        page = prices_page(Typed(typed, str(error), action))
        return render(request, "settings/prices.html", {"page": page}, status=422)
    return see_other(reverse("prices"))


def _done(action: str, typed: dict[str, str]) -> str:
    pattern = typed.get("pattern", "")
    if action == "price":
        kept = own.save_price(pattern, {part: typed.get(part, "").strip() for part in PARTS}, now=timezone.now())
        refresh_costs()
        return f"The price of {kept} is kept; it holds for every session at once."
    if action == "window":
        kept = own.save_window(pattern, typed.get("tokens", ""), now=timezone.now())
        return f"The window of {kept} is kept. Budgets use it at once, other pages when a session is read again."
    if action == "remove_price":
        own.remove_price(pattern)
        refresh_costs()
        return f"The price of {pattern[:120]} is the table's again."
    if action == "remove_window":
        own.remove_window(pattern)
        return f"The window of {pattern[:120]} is the table's again."
    raise BadPrice("Nothing was changed: the form did not say what to do. Load the page again.")


urlpatterns = [path("settings/prices/", prices, name="prices")]
