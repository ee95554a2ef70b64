"""A configuration file: whose it is, what is kept of it, and that extract's own form."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from contextviz.events.session import Configuration, Setting
from contextviz.sources.configuration import json5
from contextviz.sources.configuration.allowed import MOST_KEPT, Path, allowed, chosen
from contextviz.sources.values import as_dict, as_int, as_list, as_text, is_too_deep

MOST_BYTES = 1024 * 1024
EXTRACT = "contextviz.configuration/1"
# Files that are configuration by their name, and whose. OTHER: of a program or a form that nothing is kept of.
OTHER = "other"
_NAMES = {
    "openclaw.json": "openclaw", "clawdbot.json": "openclaw", "moltbot.json": "openclaw",
    "vole.config.json": "openvole", "config.toml": "codex", "models.json": "pi", "settings.json": "pi",
}  # fmt: skip
# Names that other programs use as well: the shape has to fit too.
_COMMON = frozenset({"config.toml", "models.json", "settings.json"})
_CREDENTIALS = frozenset(
    {
        "auth.json", "auth-profiles.json", ".credentials.json", "credentials.json", "settings.local.json",
        ".claude.json", ".env", "oauth_creds.json", "oauth.json", "google_accounts.json", "mcp-oauth-tokens.json",
        "mcp-oauth-tokens-v2.json", "mcp.json", ".mcp.json", "mcp_config.json", "mcp_settings.json", "tokens.json",
        "token.json", "secrets.json", "api_keys.json", "api-keys.json", "client_secret.json", "service_account.json",
        "application_default_credentials.json", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "hosts.yml",
    }
)  # fmt: skip
_BACKUP = re.compile(rf"(?:{'|'.join(map(re.escape, _NAMES))})(?:[.~-].{{0,80}}|~)", re.DOTALL)
_SUFFIXES = (".json", ".json5", ".jsonc", ".toml")
_TOKENS = ("access_token", "accessToken", "refresh_token", "refreshToken", "id_token", "client_secret", "private_key")
# Top-level keys of transcripts, requests and stores: an object that has one is none of these files.
_TRANSCRIPT_KEYS = frozenset(
    {"contents", "contexts", "history", "info", "input", "mapping", "resourceLogs", "resourceSpans", "sessionId",
     "steps", "trajectory", "type"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a configuration file came to: the program it is of, the allowed settings by path, how many others it
    holds, and the sentence where it could not be read."""

    agent: str
    kept: Mapping[Path, Setting] = field(default_factory=dict)
    left_out: int = 0
    problem: str | None = None

    def as_bytes(self) -> bytes:
        """The extract: all that may be kept of the file."""
        body = {
            "extract": EXTRACT,
            "agent": self.agent,
            "settings": sorted([list(path), value] for path, value in self.kept.items()),
            "left_out": self.left_out,
            "problem": self.problem,
        }
        return orjson.dumps(body, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)


def may_be(name: str, size: int) -> bool:
    """Whether a file is worth a look, by its name and size: a configuration is small and named as one."""
    base = name.rsplit("/", 1)[-1].lower()
    return _named(base) is not None or (size <= MOST_BYTES and (base.endswith(_SUFFIXES) or "." not in base))


def is_never_opened(name: str) -> bool:
    """Whether a file is a list of keys, or a backup of a configuration, by its name: such are not even looked at."""
    return _named(name.rsplit("/", 1)[-1].lower()) == OTHER


def is_named(name: str) -> bool:
    """Whether a file is a configuration or a list of keys by its name alone."""
    return _named(name.rsplit("/", 1)[-1].lower()) is not None


def load(name: str, raw: bytes) -> Loaded | None:
    """The file `raw` called `name` as a configuration; None where it is none. Never raises."""
    base = name.rsplit("/", 1)[-1].lower()
    agent = _named(base)
    if len(raw) > MOST_BYTES:
        too_long = f"it is larger than {MOST_BYTES // 1024} KiB, so nothing of it was read"
        return None if agent is None else Loaded(agent, problem=too_long)
    try:
        document = _parsed(base, raw)
    except ValueError as error:
        return None if agent is None else Loaded(agent, problem=str(error))
    if document.get("extract") == EXTRACT:
        return _again(document)
    shape = _shaped_toml(document) if base.endswith(".toml") else _shaped(document)
    if agent is None:
        agent = shape
    elif base in _COMMON and shape != agent:
        agent = OTHER
    if agent is None or agent == OTHER:
        return None if agent is None else Loaded(OTHER)
    kept, left_out = chosen(agent, document)
    return Loaded(agent, kept, left_out)


def _named(base: str) -> str | None:
    if base in _CREDENTIALS or base.startswith(".env.") or _BACKUP.fullmatch(base):
        return OTHER
    return _NAMES.get(base)


def _parsed(base: str, raw: bytes) -> dict[str, Any]:
    # An extract keeps the name of the file that it is of, and is JSON.
    if base.endswith(".toml") and not raw.startswith(b"{"):
        try:
            found: Any = tomllib.loads(raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
        except (ValueError, RecursionError):
            raise ValueError("it is not TOML") from None
    else:
        found = json5.parse(raw)
    if not isinstance(found, dict):
        raise ValueError("it is not one object")
    if is_too_deep(found):
        raise ValueError("it is nested too deeply")
    return found


def _shaped(document: Mapping[str, Any]) -> str | None:
    """Whose configuration an object is by its shape; None where it is no configuration that is known."""
    if _TRANSCRIPT_KEYS & document.keys() or isinstance(document.get("messages"), list):
        return None
    agents, plugins = as_dict(document.get("agents")), as_dict(document.get("plugins"))
    if {"defaults", "list"} & agents.keys() or {"slots", "entries"} & plugins.keys():
        return "openclaw"
    loop = as_dict(document.get("loop"))
    if as_list(document.get("paws")) or {"maxContextTokens", "compactThreshold"} & loop.keys():
        return "openvole"
    compaction = as_dict(document.get("compaction"))
    if {"reserveTokens", "keepRecentTokens"} & compaction.keys() or {
        "defaultModel",
        "defaultProvider",
    } & document.keys():
        return "pi"
    providers = [as_dict(one) for one in as_dict(document.get("providers")).values()]
    if any({"models", "modelOverrides", "apiKey", "baseUrl"} & one.keys() for one in providers):
        return "pi"
    return OTHER if _holds_keys(document) else None


def _holds_keys(document: Mapping[str, Any]) -> bool:
    """Whether an object is of a program's settings that hold keys: servers, variables, or tokens as such."""
    variables = as_dict(document.get("env"))
    is_settings = bool(as_dict(document.get("mcpServers"))) or any(isinstance(one, str) for one in variables.values())
    return is_settings or any(as_text(document.get(name)) for name in _TOKENS)


def _shaped_toml(document: Mapping[str, Any]) -> str | None:
    own = {"model_provider", "model_providers", "model_context_window", "model_auto_compact_token_limit"}
    usual = {"approval_policy", "sandbox_mode", "model_reasoning_effort", "mcp_servers", "profiles"}
    is_codex = own & document.keys() or (as_text(document.get("model")) is not None and usual & document.keys())
    return "codex" if is_codex else None


def _again(document: Mapping[str, Any]) -> Loaded:
    """An extract as it was kept. Anybody can write one, so every setting is held against the list once more."""
    agent = as_text(document.get("agent")) or OTHER
    kept: dict[Path, Setting] = {}
    for row in as_list(document.get("settings"))[:MOST_KEPT]:
        if not (isinstance(row, list) and len(row) == 2 and all(isinstance(part, str) for part in as_list(row[0]))):
            continue
        setting = allowed(agent, tuple(as_list(row[0])), row[1])
        if setting is not None:
            kept[tuple(row[0])] = setting
    known = agent if agent in _NAMES.values() else OTHER
    is_whole = document.get("problem") is None
    problem = None if is_whole else "it could not be read when it came, so nothing of it was kept"
    return Loaded(known, kept, as_int(document.get("left_out")) or 0, problem)


def configuration(name: str, loaded: Loaded) -> Configuration:
    """The settings with what pages and windows need of them: the engine in its slot, the windows by model."""
    windows: dict[str, int] = {}
    for path, value in loaded.kept.items():
        if path[-1] in ("contextWindow", "contextTokens") and "providers" in path and isinstance(value, int) and value:
            model = f"{path[-4]}/{path[-2]}"
            # contextTokens is the client's own, smaller limit where both are set.
            windows[model] = min(value, windows.get(model, value))
    return Configuration(
        agent=loaded.agent,
        files=(name,),
        engine=_engine(loaded),
        settings={".".join(path): value for path, value in sorted(loaded.kept.items())},
        windows=windows,
        left_out=loaded.left_out,
    )


def _engine(loaded: Loaded) -> str | None:
    if loaded.agent == "openclaw":
        slot = loaded.kept.get(("plugins", "slots", "contextEngine"))
        return slot if isinstance(slot, str) else None
    if loaded.agent == "openvole":
        paws = (value for path, value in loaded.kept.items() if path[0] == "paws")
        return next((paw for paw in paws if isinstance(paw, str)), None)
    return None
