"""What replies look like; the OpenAPI description is made from these."""

from __future__ import annotations
