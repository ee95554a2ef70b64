"""The API under /api/v1/: its operations, who may call them, how errors look, its description."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.operation import Operation

from contextviz import __version__
from contextviz.api.auth import caller_of
from contextviz.api.errors import handle_errors
from contextviz.api.params import operation
from contextviz.api.replies import one
from contextviz.api.resources import (
    alerts,
    calls,
    compactions,
    engine_events,
    events,
    folds,
    jobs,
    messages,
    originals,
    runs,
    search,
    sessions,
    uploads,
)

DESCRIPTION = """\
Everything that contextviz read of agents' sessions, as JSON.

Lists are `{"items": […], "next": cursor or null}`; give `next` back as `cursor` to go on. Calls and compactions are
numbered from 1 as on the pages, messages and items indexed from 0. Every number of tokens says its basis (reported,
derived, estimated, unknown); unknown is null, never 0. Texts come with `?text=1`, values that look like secrets
masked; with `?unmasked=1` and the scope `unmask` they come as they are, and that is written down. Names and sentences
of a transcript are cut after 2,000 characters, names after 200. Every error has one shape. Work (uploads, expand,
retrieve, delete) is answered with 202 and a job.
"""


class Api(NinjaAPI):
    """Ninja with operations named by their functions."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The function's name: unique, and what a generated client calls it."""
        return operation.view_func.__name__


# No docs_url: that page loads scripts from another host. docs/api.md explains, openapi.json describes.
api = Api(title="contextviz", version=__version__, description=DESCRIPTION, docs_url=None, openapi_url="/openapi.json")
handle_errors(api)


class Index(Schema):
    """Where one is, and as whom."""

    version: str
    openapi: str
    caller: str
    scopes: list[str]


_INDEX: dict[str, Any] = operation("read", "ingest", "operate", reply=Index)


@api.get("/", tags=["index"], **_INDEX)
def show_index(request: HttpRequest) -> HttpResponse:
    """The version, and who the caller is: the key's name or the person's, and what it may do."""
    caller = caller_of(request)
    names = sorted(caller.scopes)
    return one(Index(version=__version__, openapi="/api/v1/openapi.json", caller=caller.name, scopes=names))


for part in (
    sessions, calls, messages, compactions, engine_events, folds, originals, runs, search, uploads, jobs, events,
    alerts,
):  # fmt: skip
    api.add_router("", part.router)
