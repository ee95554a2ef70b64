"""Alerts: what rules told; rules made, tried, changed, switched, removed; what browsers ask for."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from contextviz.services import alerts as service
from contextviz.services.alerts import RuleRefused, RuleRow
from contextviz.store.queries.alerts import alerts_newest, newest_alert
from contextviz.store.values import NotAllowed
from contextviz.web.answers import see_other
from contextviz.web.htmx import page_or_fragment
from contextviz.web.pages.live import alerts as pages
from contextviz.web.pages.live.alerts import PAGE_SIZE, RuleForm, Typed

MOST_NEW = 20


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def alerts(request: HttpRequest) -> HttpResponse:
    """Alerts, the newest first (those older than `before`), and the rules. A POST makes a rule; 422 with a sentence
    where it cannot be kept."""
    if request.method == "POST":
        return _saved(request, None)
    return _list(request, pages.rule_form(Typed()))


def _list(request: HttpRequest, form: RuleForm, *, secret: str = "", secret_of: str = "") -> HttpResponse:
    before = _number(request, "before")
    rows = alerts_newest(most=PAGE_SIZE + 1, before=before)
    page = pages.alerts_page(
        rows, service.list_rules(), before=before, last=newest_alert(), form=form, secret=secret, secret_of=secret_of
    )
    return render(request, "live/alerts.html", {"page": page}, status=422 if form.error else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def alert_rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    """One rule: its form, or what it is for who may not change it. A POST changes it."""
    rule = service.find_rule(rule_id)
    if request.method == "POST":
        _check(rule)
        return _saved(request, rule)
    return _rule(request, rule, pages.rule_form(pages.typed_of(rule)))


def _rule(request: HttpRequest, rule: RuleRow, form: RuleForm) -> HttpResponse:
    context = {"rule": pages.rule_line(rule), "form": form if pages.may_change(rule) else None}
    return render(request, "live/alert_rule.html", context, status=422 if form.error else 200)


def _check(rule: RuleRow) -> None:
    if not pages.may_change(rule):
        raise NotAllowed(pages.NOT_YOURS)


def _saved(request: HttpRequest, rule: RuleRow | None) -> HttpResponse:
    typed = pages.typed_from(request.POST.dict(), rule.id if rule else None)
    try:
        made, secret = service.save_rule(
            name=typed.name, kind=typed.kind, params=pages.params_of(typed), webhook=typed.webhook,
            person_id=request.user.pk, now=timezone.now(), rule_id=typed.rule_id,
        )  # fmt: skip
    except RuleRefused as refused:
        form = pages.rule_form(typed, error=str(refused), wrong=refused.field)
        return _rule(request, rule, form) if rule else _list(request, form)
    if secret:
        return _list(request, pages.rule_form(Typed()), secret=secret, secret_of=made.name)
    messages.success(request, f"The rule “{made.name}” is kept.")
    return see_other(reverse("alerts"))


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """What the rule in the form would have told; the list of it alone for htmx."""
    text = request.POST.get("rule", "")
    rule = service.find_rule(int(text)) if text.isdecimal() and len(text) < 10 else None
    if rule is not None:
        _check(rule)
    typed = pages.typed_from(request.POST.dict(), rule.id if rule else None)
    person_id = rule.person_id if rule else request.user.pk
    try:
        found = service.preview(typed.kind, pages.params_of(typed), now=timezone.now(), person_id=person_id)
        form = pages.rule_form(typed, found=pages.preview_view(found))
    except RuleRefused as refused:
        form = pages.rule_form(typed, error=str(refused), wrong=refused.field)
    line = pages.rule_line(rule) if rule else None
    context = {"form": form, "rule": line}
    status = 422 if form.error else 200
    return page_or_fragment(request, "live/alert_rule.html", "live/_preview.html", context, status=status)


@require_POST
def switch(request: HttpRequest, rule_id: int) -> HttpResponse:
    """Switch a rule on (`on=1`) or off."""
    rule = service.find_rule(rule_id)
    _check(rule)
    is_on = request.POST.get("on") == "1"
    service.switch_rule(rule_id, is_on=is_on)
    messages.success(request, f"The rule “{rule.name}” is switched {'on' if is_on else 'off'}.")
    return see_other(reverse("alerts"))


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, rule_id: int) -> HttpResponse:
    """Ask whether a rule is to go; a POST with `confirm=yes` removes it with its alerts."""
    rule = service.find_rule(rule_id)
    if request.method == "POST":
        _check(rule)
        if request.POST.get("confirm") == "yes":
            service.remove_rule(rule_id)
            messages.success(request, f"The rule “{rule.name}” and its alerts are removed.")
            return see_other(reverse("alerts"))
    error = "Tick the box to remove it." if request.method == "POST" else ""
    context = {"rule": pages.rule_line(rule), "error": error, "not_yours": pages.NOT_YOURS}
    return render(request, "live/alert_remove.html", context, status=422 if error else 200)


@require_safe
def alerts_new(request: HttpRequest) -> HttpResponse:
    """Alerts after number `after` as JSON, the oldest first, the newest 20 at most; without it none, and where to go
    on from."""
    after = _number(request, "after")
    rows = [] if after is None else alerts_newest(most=MOST_NEW, after=after)
    lines = pages.alert_lines(reversed(rows))
    found = [
        {"id": one.id, "rule": one.rule, "title": one.title, "sentence": one.sentence, "url": one.url} for one in lines
    ]
    last = rows[0].id if rows else (newest_alert() if after is None else after)
    response = JsonResponse({"last": last, "alerts": found})
    response["Cache-Control"] = "no-store"
    return response


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


urlpatterns = [
    path("alerts/", alerts, name="alerts"),
    path("alerts/new", alerts_new, name="alerts_new"),
    path("alerts/preview/", preview, name="alert_preview"),
    path("alerts/rules/<int:rule_id>/", alert_rule, name="alert_rule"),
    path("alerts/rules/<int:rule_id>/switch/", switch, name="alert_switch"),
    path("alerts/rules/<int:rule_id>/remove/", remove, name="alert_remove"),
]
