from __future__ import annotations

from django.urls import include, path

from contextviz.api.api import api

urlpatterns = [
    path("api/v1/", api.urls),
    path("live/", include("contextviz.live.urls")),
    path("", include("contextviz.web.urls")),
]

handler400 = "contextviz.web.views.failures.bad_request"
handler403 = "contextviz.web.views.failures.permission_denied"
handler404 = "contextviz.web.views.failures.page_not_found"
handler500 = "contextviz.web.views.failures.server_error"
