"""Floor 3: the database. The one Django app with tables; it keeps facts and computes none."""

from __future__ import annotations
