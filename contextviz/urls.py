from __future__ import annotations

from django.urls import include, path

from contextviz.api.api import api
from contextviz.api.otlp import receive

urlpatterns = [
    path("api/v1/", api.urls),
    path("v1/traces", receive, {"signal": "traces"}, name="otlp_traces"),
    path("v1/logs", receive, {"signal": "logs"}, name="otlp_logs"),
    path("v1/metrics", receive, {"signal": "metrics"}, name="otlp_metrics"),
    path("live/", include("contextviz.live.urls")),
    path("", include("contextviz.web.urls")),
]

handler400 = "contextviz.web.views.failures.bad_request"
handler403 = "contextviz.web.views.failures.permission_denied"
handler404 = "contextviz.web.views.failures.page_not_found"
handler500 = "contextviz.web.views.failures.server_error"
