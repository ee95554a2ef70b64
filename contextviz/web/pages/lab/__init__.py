"""The Lab: one session under several engines, compared call by call."""

from __future__ import annotations
