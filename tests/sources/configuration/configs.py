"""Configurations of every agent, with a key planted in every place that a key may stand in."""

from __future__ import annotations

import json

# Of a form that no pattern of a secret knows, so that only the list of what is allowed can keep it out.
PLANTED = "plantedvalue"
KEY = f"{PLANTED}-7f3a9c"

OPENCLAW = f"""// {KEY}
{{
  gateway: {{ auth: {{ mode: "token", token: "{KEY}" }} }},
  channels: {{ telegram: {{ botToken: '{KEY}', }}, }},
  env: {{ OPENAI_API_KEY: "{KEY}", "{KEY}": 1 }},
  models: {{ providers: {{ demo: {{ apiKey: "{KEY}", baseUrl: "http://{KEY}.example/v1", headers: {{ k: "{KEY}" }},
    models: [ {{ id: "demo-1", name: "{KEY}", contextWindow: 40000, maxTokens: 4096 }} ] }} }} }},
  agents: {{
    defaults: {{
      model: {{ primary: "demo/demo-1" }}, workspace: "/srv/{KEY}", systemPrompt: "{KEY}",
      compaction: {{ mode: "safeguard", reserveTokens: 6000, reserveTokensFloor: 0, keepRecentTokens: 3000,
        customInstructions: "{KEY}", memoryFlush: {{ enabled: true, softThresholdTokens: 4000, prompt: "{KEY}" }} }},
    }},
    list: [ {{ id: "main", contextTokens: 32000, identity: {{ name: "{KEY}" }} }} ],
  }},
  plugins: {{ slots: {{ contextEngine: "lossless-claw" }}, entries: {{ "lossless-claw": {{ enabled: true,
    config: {{ contextThreshold: 0.5, freshTailCount: 8, summaryModel: "{KEY}", databasePath: "/srv/{KEY}.db",
      leafChunkTokens: "{KEY}" }} }},
    "openclaw-openbrain-context": {{ config: {{ apiKey: "{KEY}", baseUrl: "x{KEY}", recentMessages: 20 }} }} }} }},
}}
"""
PI_SETTINGS = json.dumps(
    {"compaction": {"enabled": True, "reserveTokens": 4000, "keepRecentTokens": 3000, "note": KEY},
     "defaultProvider": "demo", "defaultModel": "demo-1", "env": {"TOKEN": KEY}, "shellPath": f"/{KEY}"}
)  # fmt: skip
PI_MODELS = json.dumps(
    {"providers": {"demo": {"apiKey": KEY, "baseUrl": f"http://{KEY}", "headers": {"Authorization": KEY},
                            "models": [{"id": "demo-1", "name": KEY, "contextWindow": 16000, "maxTokens": 4000}]}}}
)  # fmt: skip
OPENVOLE = json.dumps(
    {"brain": "@openvole/paw-brain", "paws": [{"name": "@openvole/paw-compact", "env": {"KEY": KEY}}, KEY],
     "loop": {"maxContextTokens": 24000, "compactThreshold": 14, "responseReserve": 2000, "secret": KEY},
     "security": {"token": KEY}}
)  # fmt: skip
CODEX = f"""# {KEY}
model = "demo-1"
model_provider = "demo"
model_context_window = 24000
model_auto_compact_token_limit = 15000
instructions = "{KEY}"
[model_providers.demo]
base_url = "http://{KEY}/v1"
experimental_bearer_token = "{KEY}"
http_headers = {{ "x-key" = "{KEY}" }}
[mcp_servers.files.env]
TOKEN = "{KEY}"
[history]
persistence = "none"
"""
FILES = {
    "openclaw.json": OPENCLAW, "settings.json": PI_SETTINGS, "models.json": PI_MODELS, "vole.config.json": OPENVOLE,
    "config.toml": CODEX,
}  # fmt: skip
