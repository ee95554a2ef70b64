"""The events of Copilot CLI's log: their envelope, and the types that tell nothing of the conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FORMAT = "copilot-cli"
Json = dict[str, Any]
_TYPE = re.compile(r"[a-z_]{1,40}(?:\.[a-zA-Z_]{1,40}){1,3}|abort")
# Types of the client's own schema (1.0.85) that are neither said to the model nor change what it is given.
_QUIET = """
assistant.fusion_phase_activity assistant.fusion_phase_completed assistant.fusion_phase_failed
assistant.fusion_phase_started assistant.idle assistant.intent assistant.message_delta assistant.message_start
assistant.reasoning_delta assistant.server_tool_progress assistant.streaming_delta assistant.tool_call_delta
assistant.turn_end assistant.turn_start auto_mode_switch.completed auto_mode_switch.requested
capabilities.changed command.completed command.execute command.queued commands.changed elicitation.completed
elicitation.requested exit_plan_mode.completed exit_plan_mode.requested external_tool.completed
external_tool.requested factory.run_settled factory.run_started factory.run_updated hook.end hook.progress
hook.start mcp.headers_refresh_completed mcp.headers_refresh_required mcp.oauth_completed mcp.oauth_required
mcp.prompts.list_changed mcp.resources.list_changed mcp.tools.list_changed mcp_app.tool_call_complete
model.call_finished pending_messages.modified permission.assentDetected permission.carriedForward
permission.completed permission.contextualAuthorization permission.messageAuthorization
permission.messageAuthorizationDegraded permission.messageAuthorizationRead permission.requested
sampling.completed sampling.requested session.auto_mode_resolved session.auto_tier_recommendation
session.auto_tier_switch_failed session.autopilot_objective_changed session.background_tasks_changed
session.binary_asset session.canvas.closed session.canvas.opened session.canvas.recorded
session.canvas.registry_changed session.canvas.removed session.canvas.unavailable session.completion_receipt
session.context_changed session.custom_agents_updated session.custom_notification
session.extensions.attachments_pushed session.extensions_loaded session.fusion_completed session.fusion_resolved
session.fusion_route_failed session.fusion_route_started session.idle session.managed_settings_enforced
session.managed_settings_resolved session.mcp_server_needs_reconnect session.mcp_server_removed
session.mcp_server_status_changed session.mcp_servers_loaded session.mode_changed session.mode_notice_delivered
session.permissions_changed session.plan_changed session.remote_steerable_changed session.schedule_cancelled
session.schedule_created session.schedule_rearmed session.session_limits_changed session.skills_loaded
session.task_complete session.todos_changed session.tools_updated session.usage_checkpoint
session.workspace_file_changed session_limits_exhausted.completed session_limits_exhausted.requested
subagent.configured subagent.deselected subagent.selected tool.execution_partial_result tool.execution_progress
tool_search.activated ui.ephemeral_query user_input.completed user_input.requested
"""
QUIET = frozenset(_QUIET.split())


def is_event(record: Mapping[str, Any]) -> bool:
    """Whether a record has the envelope of Copilot CLI's events: a dotted type, its data, and its place in the chain
    of events."""
    kind = record.get("type")
    if not isinstance(kind, str) or not isinstance(record.get("data"), dict) or _TYPE.fullmatch(kind) is None:
        return False
    return "parentId" in record and isinstance(record.get("id"), str) and isinstance(record.get("timestamp"), str)


def is_old_document(document: Mapping[str, Any]) -> bool:
    """Whether a document is a session as the first versions kept it (history-session-state): its chat and what was
    shown of it."""
    if not isinstance(document.get("sessionId"), str):
        return False
    return isinstance(document.get("chatMessages"), list) and isinstance(document.get("timeline"), list)
