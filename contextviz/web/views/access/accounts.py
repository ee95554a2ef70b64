"""Settings: accounts and one's own password."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from contextviz.services.accounts import people
from contextviz.services.accounts.people import AccountRefused
from contextviz.services.api_keys import list_keys
from contextviz.web.answers import see_other
from contextviz.web.pages.access.accounts import account_page, accounts_page


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def accounts(request: HttpRequest) -> HttpResponse:
    """The list; a POST (`name`, `role`, `password`) makes one, 422 with a sentence where it cannot be made."""
    if request.method != "POST":
        return render(request, "settings/accounts.html", {"page": accounts_page(people.accounts())})
    name, role = request.POST.get("name", "").strip(), request.POST.get("role", "")
    try:
        row = people.create_account(name, role=role, password=request.POST.get("password", ""))
    except AccountRefused as error:
        page = accounts_page(people.accounts(), name=name[:60], role=role, error=str(error))
        return render(request, "settings/accounts.html", {"page": page}, status=422)
    messages.success(request, f"The account {row.name} is made. Tell its owner the password, to be changed at once.")
    return see_other(reverse("accounts"))


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest, user_id: int) -> HttpResponse:
    """One account; a POST (`action` role, stop, start, password) changes it, 422 with a sentence where it cannot."""
    row = people.get_account(user_id)
    error = ""
    if request.method == "POST":
        try:
            messages.success(request, _changed(request, user_id))
            return see_other(reverse("account", args=[user_id]))
        except AccountRefused as refused:
            error = str(refused)
    is_own = user_id == request.user.pk
    page = account_page(row, list_keys(user_id), is_own=is_own, now=timezone.now(), error=error)
    return render(request, "settings/account.html", {"page": page}, status=422 if error else 200)


def _changed(request: HttpRequest, user_id: int) -> str:
    action = request.POST.get("action", "")
    if action == "role":
        row = people.change_role(user_id, request.POST.get("role", ""))
        return f"{row.name} is {row.role} now."
    if action == "stop":
        return f"{people.set_active(user_id, is_active=False).name} is stopped; sign-ins and keys open nothing."
    if action == "start":
        return f"{people.set_active(user_id, is_active=True).name} may come in again."
    if action == "password":
        return f"{people.reset_password(user_id, request.POST.get('password', '')).name} has a new password."
    raise AccountRefused("Nothing was changed: the form did not say what to do. Load the page again.")


@never_cache
@sensitive_post_parameters("old", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """One's own password; a POST (`old`, `new`, `again`) changes it, 422 with a sentence where it cannot be."""
    user = request.user
    assert isinstance(user, User), "the middleware lets nobody come here who is not signed in"
    error = ""
    if request.method == "POST":
        given = {name: request.POST.get(name, "") for name in ("old", "new", "again")}
        try:
            people.change_password(user, **given)
        except AccountRefused as refused:
            error = str(refused)
        else:
            update_session_auth_hash(request, user)  # this browser stays in, every other one is out
            messages.success(request, "The password is changed. Other browsers are signed out.")
            return see_other(reverse("settings"))
    context = {"error": error, "has_password": user.has_usable_password(), "name": user.username}
    return render(request, "settings/password.html", context, status=422 if error else 200)


urlpatterns = [
    path("settings/accounts/", accounts, name="accounts"),
    path("settings/accounts/<int:user_id>/", account, name="account"),
    path("settings/password/", password, name="password"),
]
