"""People: accounts and roles, signing in with a password, whose sessions are private, and what is written down."""

from __future__ import annotations
