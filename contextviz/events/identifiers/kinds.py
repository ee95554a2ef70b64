"""The classes of identifiers, and the word lists their grammar needs."""

from __future__ import annotations

from typing import Literal

IdentifierKind = Literal[
    "path",
    "url",
    "symbol",
    "command",
    "hash",
    "error",
    "version",
    "number",
    "key",
    "quote",
    "directive",
    "decision",
    "open_item",
]
KINDS: tuple[IdentifierKind, ...] = (
    "path",
    "url",
    "symbol",
    "command",
    "hash",
    "error",
    "version",
    "number",
    "key",
    "quote",
    "directive",
    "decision",
    "open_item",
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXTENSIONS = _words(
    "py pyi js jsx ts tsx mjs cjs json jsonl ndjson toml yaml yml md rst txt csv tsv sql sqlite db html htm css scss"
    " c h cc cpp hpp rs go java kt kts rb php sh bash zsh ps1 bat cfg ini conf env lock log xml svg png jpg jpeg gif"
    " webp pdf ipynb proto tf gradle swift m mm scala ex exs erl hs ml lua pl r jl vue svelte zip gz tar tgz whl so"
    " dll exe bin patch diff service tex parquet"
)
BARE_FILES = _words(
    "Makefile Dockerfile LICENSE README CHANGELOG Procfile Gemfile Rakefile Vagrantfile Jenkinsfile .gitignore .env"
    " .dockerignore .editorconfig .bashrc .npmrc CODEOWNERS"
)
TOP_FOLDERS = _words(
    "src lib libs test tests docs doc bin app apps pkg cmd internal scripts templates static config conf build dist"
    " node_modules packages examples tools data migrations include vendor public assets"
    " services web server client frontend backend"
)
ROOT_FOLDERS = _words("etc tmp usr var home opt dev bin root srv mnt proc sys Users Library workspace repo")
TOP_DOMAINS = _words("com org net io dev ai app edu gov local internal localhost example test invalid info")
# Names that look like CamelCase or dotted code and are everyday words.
EVERYDAY = _words(
    "GitHub GitLab JavaScript TypeScript PostgreSQL MySQL OpenAI iPhone YouTube LinkedIn MacOS macOS iOS DevOps"
    " FastAPI GraphQL WebSocket OAuth McDonald OpenAPI SQLAlchemy LaTeX PowerShell BibTeX WiFi PhD"
)
# A first word that is a command whatever follows it.
COMMANDS = _words(
    "pytest python python3 pip pip3 uv uvx poetry npm npx pnpm yarn node deno bun docker docker-compose podman"
    " kubectl helm terraform ansible-playbook cargo rustc rustup gradle mvn javac cmake ninja gcc clang g++ tox nox"
    " ruff mypy black flake8 pylint isort eslint prettier tsc jest vitest mocha playwright psql mysql sqlite3 redis-cli"
    " curl wget ssh scp rsync grep rg sed awk chmod chown mkdir rmdir systemctl journalctl apt apt-get brew dnf"
    " gh aws gcloud az alembic celery gunicorn uvicorn django-admin bundle rails composer php ls cd rm cp mv xargs"
    " export source sudo tar unzip jq gdb strace lsof nc ping dig crontab nohup openssl"
)
# A first word that is also English: what must follow for it to be a command.
WEAK_COMMANDS: dict[str, str] = {
    "git": r"(?:-C|add|am|apply|bisect|blame|branch|checkout|cherry-pick|clone|commit|config|diff|fetch|grep|init|log"
    r"|merge|mv|pull|push|rebase|reflog|remote|reset|restore|revert|rm|show|stash|status|switch|tag|worktree)\b",
    "make": r"[a-z][\w-]{0,30}(?: [A-Z_]{2,20}=\S{1,40})?$",
    "go": r"(?:build|run|test|mod|vet|get|install|fmt|generate)\b",
    "find": r"[./~]",
    "cat": r"[\w./~-]{0,80}[./]",
    "head": r"-|[\w./~-]{0,80}[./]",
    "tail": r"-|[\w./~-]{0,80}[./]",
    "touch": r"[\w./~-]{0,80}[./]",
    "kill": r"-|\d",
    "echo": r"[\"'$]",
    "time": r"(?:python|pytest|\./)",
    "java": r"-|[\w./-]{1,80}\.jar",
    "ruby": r"-|[\w./-]{1,80}\.rb",
    "diff": r"-|[\w./~-]{0,80}[./]",
    "sleep": r"\d{1,6}$",
    "for": r"\w{1,20} in .{1,200}; ?do\b",
}
UNITS: dict[str, str] = {
    "%": "%",
    "percent": "%",
    "ms": "ms",
    "milliseconds": "ms",
    "us": "us",
    "µs": "us",
    "ns": "ns",
    "s": "s",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "min": "min",
    "mins": "min",
    "minute": "min",
    "minutes": "min",
    "h": "h",
    "hour": "h",
    "hours": "h",
    "day": "d",
    "days": "d",
    "b": "B",
    "bytes": "B",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "k": "k",
    "px": "px",
    "hz": "Hz",
    "khz": "kHz",
    "mhz": "MHz",
    "ghz": "GHz",
    "tokens": "tokens",
    "tok": "tokens",
    "token": "tokens",
    "lines": "lines",
    "rows": "rows",
    "files": "files",
    "tests": "tests",
    "workers": "workers",
    "threads": "threads",
    "requests": "requests",
    "times": "times",
    "x": "times",
    "usd": "USD",
    "eur": "EUR",
    "messages": "messages",
    "calls": "calls",
    "req/s": "req/s",
    "mb/s": "MB/s",
}
