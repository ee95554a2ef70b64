"""The names of formats: the program that writes one, and the format itself. Keys are those of Session.format and
SourceFile.format; what is meant for programs (JSON, addresses, columns) keeps the key."""

from __future__ import annotations

# By key: the program, and the format.
FORMATS = {
    "claude-code": ("Claude Code", "claude jsonl"),
    "codex": ("Codex", "codex rollout"),
    "openclaw": ("OpenClaw", "openclaw jsonl"),
    "openclaw-sqlite": ("OpenClaw", "openclaw store"),
    "pi": ("pi", "pi jsonl"),
    "lossless-claw": ("OpenClaw", "lossless store"),
    "conversation-map": ("OpenClaw", "conversation map"),
    "openvole": ("OpenVole", "openvole transcript"),
    "gemini-cli": ("Gemini CLI", "gemini session"),
    "opencode": ("OpenCode", "opencode session"),
    "openhands": ("OpenHands", "openhands events"),
    "copilot-cli": ("Copilot CLI", "copilot events"),
    "droid": ("Droid", "droid session"),
    "kiro": ("Kiro", "kiro session"),
    "cursor": ("Cursor", "cursor transcript"),
    "chatgpt-export": ("ChatGPT", "chatgpt export"),
    "claude-ai-export": ("claude.ai", "claude.ai export"),
    "atif": ("ATIF", "atif trajectory"),
    "swe-agent": ("SWE-agent", "swe-agent trajectory"),
    "otlp": ("OpenTelemetry", "otlp traces"),
    "flowctx": ("flowctx", "flowctx"),
    "flowctx-dump": ("flowctx", "flowctx dump"),
    "cortext": ("Cortext", "cortext"),
    "engine-log": ("Engine log", "engine log"),
    "events": ("Posted events", "events"),
    "openai-chat": ("OpenAI Chat", "openai chat"),
    "openai-responses": ("OpenAI Responses", "openai responses"),
    "anthropic-messages": ("Anthropic Messages", "anthropic messages"),
    "gemini-api": ("Gemini API", "gemini api"),
    "chat-array": ("Chat messages", "chat array"),
    "sharegpt": ("ShareGPT", "sharegpt"),
}
# What a format is called where it stands alone, where that is not its program.
_ALONE = {
    "openclaw-sqlite": "OpenClaw store",
    "lossless-claw": "lossless-claw store",
    "conversation-map": "Conversation map",
    "flowctx-dump": "flowctx dump",
    # Of files that hold no session.
    "entire": "Entire",
    "configuration": "Configuration",
}


def program_and_format(key: str) -> tuple[str, str]:
    """The program that writes a format, and the format in words."""
    known = FORMATS.get(key)
    if known:
        return known
    return next((FORMATS[name][0] for name in FORMATS if key.startswith(name)), key), key.replace("-", " ")


def formats_of(program: str) -> tuple[str, ...]:
    """The formats that a program writes; a program that is not known here is the name of its own format."""
    return tuple(key for key, (name, _) in FORMATS.items() if name == program) or (program,)


def format_name(key: str) -> str:
    """What a format is called where it stands alone: on pages of its session and of the coverage, on a terminal."""
    return _ALONE.get(key) or program_and_format(key)[0]
