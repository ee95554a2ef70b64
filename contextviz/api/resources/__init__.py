"""The operations, a module for each kind of thing. Each gets its rows through `api.access` and answers with
`api.replies`."""

from __future__ import annotations
