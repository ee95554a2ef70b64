"""Alerts: rules that people keep, what made them true, and who is told.

A rule is evaluated in the transaction that saves a session (evaluate), or by the worker's timer (look_for_stuck); each
alert is a row once for what made it true, and may open a job that calls a webhook.
"""

from __future__ import annotations

from contextviz.services.alerts.evaluating import evaluate, look_for_stuck, waiting_webhooks
from contextviz.services.alerts.preview import Preview, preview
from contextviz.services.alerts.rules import (
    KINDS,
    RuleRefused,
    RuleRow,
    find_rule,
    list_rules,
    remove_rule,
    save_rule,
    switch_rule,
)
from contextviz.services.alerts.webhook import send_webhook

__all__ = [
    "KINDS",
    "Preview",
    "RuleRefused",
    "RuleRow",
    "evaluate",
    "find_rule",
    "list_rules",
    "look_for_stuck",
    "preview",
    "remove_rule",
    "save_rule",
    "send_webhook",
    "switch_rule",
    "waiting_webhooks",
]
