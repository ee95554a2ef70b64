"""Keeping an installation: what is removed by age and size, which workers run, backup and restore."""

from __future__ import annotations
