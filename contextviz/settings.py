"""All settings, each read from the environment by a typed reader. docs/settings.md explains every one.

With no variable set, this is the embedded stack: SQLite and a SQLite broker in one data folder, loopback only.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PREFIX = "CONTEXTVIZ_"
SETTINGS_READ: set[str] = set()  # every variable asked for; a check uses it to name the misspelt ones


# ---- typed readers ---------------------------------------------------------------------------------------------------
def env_str(name: str, default: str = "") -> str:
    """The variable's text without surrounding blanks, or the default when unset or empty."""
    SETTINGS_READ.add(PREFIX + name)
    return os.environ.get(PREFIX + name, "").strip() or default


def env_secret(name: str, default: str = "") -> str:
    """A secret, from the variable itself or from the file that `<NAME>_FILE` names."""
    path = env_str(name + "_FILE")
    if not path:
        return env_str(name, default)
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ImproperlyConfigured(
            f"{PREFIX}{name}_FILE names {path}, which cannot be read ({reason}). Correct the path or unset it."
        ) from error
    if not found:
        # Falling back to the default would start another stack than the one that was asked for.
        raise ImproperlyConfigured(f"{PREFIX}{name}_FILE names {path}, which is empty. Write the secret into it.")
    return found


def env_int(name: str, default: int, *, minimum: int = 0) -> int:
    """A whole number not below the minimum."""
    text = env_str(name, str(default))
    try:
        number = int(text)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise ImproperlyConfigured(f"{PREFIX}{name} is {text!r}; it must be a whole number of at least {minimum}.")
    return number


def env_bool(name: str, default: bool = False) -> bool:
    """A yes or a no."""
    text = env_str(name, "yes" if default else "no").lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{PREFIX}{name} is {text!r}; write yes or no.")


def env_list(name: str) -> list[str]:
    """Parts separated by commas."""
    return [part.strip() for part in env_str(name).split(",") if part.strip()]


def postgres_database(url: str, password: str = "") -> dict[str, Any]:
    """Django's connection dictionary for a `postgres://user:password@host:port/name?option=value` address; `password`
    where the address has none."""
    # The address may hold a password, so no message repeats it.
    unlike = f"{PREFIX}DATABASE_URL must look like postgres://user:password@host:5432/name; leave it unset for SQLite."
    try:
        parts = urlsplit(url)
    except ValueError:  # half an IPv6 address
        raise ImproperlyConfigured(unlike) from None
    name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in {"postgres", "postgresql"} or not name:
        raise ImproperlyConfigured(unlike)
    try:
        port = str(parts.port or "")
    except ValueError as error:
        raise ImproperlyConfigured(f"{PREFIX}DATABASE_URL has a port that is no number from 1 to 65535.") from error
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")  # ?host=/folder names a Unix socket
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or "") or password,
        "HOST": host,
        "PORT": port,
        # A pool per process: with ASGI each request may run on another thread, so connections are not kept per thread.
        "CONN_MAX_AGE": 0,
        "OPTIONS": {**options, "pool": {"min_size": 1, "max_size": 8, "timeout": 10}},
    }


def kept_secret_key(folder: Path) -> str:
    """The secret key of this data folder, made on first use; readable by the owner alone."""
    path = folder / "secret_key"
    if not path.exists():
        # Written aside and linked, so that two processes starting together agree on one complete key.
        handle, aside = tempfile.mkstemp(dir=folder, prefix=".secret_key.")  # created 0600 with O_EXCL
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(secrets.token_urlsafe(50))
            os.link(aside, path)
        except FileExistsError:
            pass
        finally:
            Path(aside).unlink()
    return path.read_text(encoding="utf-8").strip()


# ---- places ----------------------------------------------------------------------------------------------------------
PACKAGE_DIR = Path(__file__).resolve().parent
# An installed wheel carries templates and static files inside the package; a checkout has them beside it.
ASSETS_DIR = PACKAGE_DIR / "_assets" if (PACKAGE_DIR / "_assets").is_dir() else PACKAGE_DIR.parent

_DATA_HOME = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
DATA_DIR = Path(env_str("DATA_DIR", str(Path(_DATA_HOME) / "contextviz"))).expanduser().resolve()
INCOMING_DIR = DATA_DIR / "incoming"  # uploads under way; `up` empties it, since a half upload is worth nothing
try:
    DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
    INCOMING_DIR.mkdir(exist_ok=True, mode=0o700)
    _kept_key = kept_secret_key(DATA_DIR)
except OSError as failure:
    raise ImproperlyConfigured(
        f"The data folder {DATA_DIR} cannot be used ({failure.strerror}). "
        f"Make it writable, or set {PREFIX}DATA_DIR to a folder that is."
    ) from failure

# ---- basics ----------------------------------------------------------------------------------------------------------
DEBUG = env_bool("DEBUG")
SECRET_KEY = env_secret("SECRET_KEY", _kept_key)
ROOT_URLCONF = "contextviz.urls"
ASGI_APPLICATION = "contextviz.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

# Loopback names only: a page of another site that rebinds its name to 127.0.0.1 is refused by its Host header.
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *env_list("ALLOWED_HOSTS")]
CSRF_TRUSTED_ORIGINS = env_list("TRUSTED_ORIGINS")
# Set by the server when it opens its socket (contextviz.cli.listening); nobody knows where another server listens.
LISTENS_ON_LOOPBACK = False
HTTPS = env_bool("HTTPS")  # a proxy in front speaks TLS to browsers

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "contextviz.store",
    "contextviz.web",
    "contextviz.cli",
]
MIDDLEWARE = [
    "contextviz.api.errors.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "contextviz.web.middleware.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "contextviz.web.middleware.ViewerMiddleware",
    "contextviz.web.middleware.SignInRequiredMiddleware",
    "contextviz.web.roles.RoleMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "contextviz.web.shell.PreferencesMiddleware",
    "contextviz.web.masking.MaskingMiddleware",
    "contextviz.web.errors.SentenceMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "contextviz.web.shell.shell",
            ]
        },
    }
]

# ---- database and jobs -----------------------------------------------------------------------------------------------
DATABASE_URL = env_secret("DATABASE_URL")
DATABASE_PASSWORD = env_secret("DATABASE_PASSWORD")  # apart from the address, so that PostgreSQL can share the file
REDIS_URL = env_secret("REDIS_URL")
if DATABASE_URL:
    DATABASES = {"default": postgres_database(DATABASE_URL, DATABASE_PASSWORD)}
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(DATA_DIR / "contextviz.sqlite3"),
            "OPTIONS": {
                "timeout": 20,
                # A transaction takes the write lock at once; upgrading later is what raises "database is locked".
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
            # A file, not memory: the test server's threads and worker processes must see the same rows.
            "TEST": {"NAME": str(DATA_DIR / "test.sqlite3")},
        }
    }

TASK_APP_MODULE = "contextviz.celery"  # imported by name once Django is ready, so that tasks find their broker
CELERY_BROKER_URL = REDIS_URL or "ctxsqlite://localhost"  # the name means nothing; the path below does
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    # A job longer than this would be delivered twice by Redis; the hard time limit below is shorter. A Redis that went
    # away without a word is noticed after the other two.
    {"visibility_timeout": 7200, "socket_connect_timeout": 5, "socket_timeout": 30}
    if REDIS_URL
    else {"path": str(DATA_DIR / "broker.sqlite3")}
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True  # a job's outcome is its row
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_LOST_WAIT = 1.0  # seconds until the job of a killed pool process is delivered again
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # needs fanout; a job is cancelled through its row
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_SOFT_TIME_LIMIT = env_int("JOB_TIME_LIMIT_SECONDS", 3600, minimum=10)
CELERY_TASK_TIME_LIMIT = CELERY_TASK_SOFT_TIME_LIMIT + 60
CELERY_TIMEZONE = "UTC"

# ---- uploads ---------------------------------------------------------------------------------------------------------
MAX_UPLOAD_BYTES = env_int("MAX_UPLOAD_MB", 512, minimum=1) * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024  # a form's fields; files are streamed to disk and counted apart
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
FILE_UPLOAD_TEMP_DIR = str(INCOMING_DIR)
FILE_UPLOAD_PERMISSIONS = 0o600

# ---- following files -------------------------------------------------------------------------------------------------
# What `up` follows; `homes` stands for the agents' own folders.
WATCH = [part.strip() for part in env_str("WATCH").split(os.pathsep) if part.strip()]
WATCH_POLL = env_bool("WATCH_POLL")  # look again and again, where the system does not tell of changes

# ---- retention -------------------------------------------------------------------------------------------------------
RETENTION_DAYS = env_int("RETENTION_DAYS", 0)  # sessions that ended longer ago are removed; 0 keeps them
RETENTION_BYTES = env_int("RETENTION_MB", 0) * 1024 * 1024  # the oldest are removed above this; 0 keeps them

# ---- pages and trust -------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [ASSETS_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # served from where they are: nothing to collect before the first start
WHITENOISE_ALLOW_ALL_ORIGINS = False

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 10}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
# A summariser for replays on an endpoint that speaks OpenAI's protocol; off unless address and model are set.
SUMMARISER_URL = env_str("SUMMARISER_URL")
SUMMARISER_MODEL = env_str("SUMMARISER_MODEL")
SUMMARISER_KEY = env_secret("SUMMARISER_KEY")
SUMMARISER_TIMEOUT_SECONDS = env_int("SUMMARISER_TIMEOUT_SECONDS", 20, minimum=1)  # for one answer
ADMIN_PASSWORD = env_secret("ADMIN_PASSWORD")  # of the account `admin`, made at the start where no admin has one
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
SIGN_IN_EXEMPT_PREFIXES = ("/api/", "/v1/", "/healthz")  # the API and the OTLP receiver check their own keys
SESSION_COOKIE_NAME = "contextviz_session"  # cookies ignore ports: another local Django must not overwrite ours
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_NAME = "contextviz_csrf"
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_HTTPONLY = True  # the page carries the token; no script needs the cookie
CSRF_COOKIE_SECURE = HTTPS
CSRF_FAILURE_VIEW = "contextviz.web.views.failures.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        # The hash is that of an empty <style>, which Plotly adds before it inserts rules one by one.
        "style-src": ["'self'", "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"],
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# Alerts may call addresses inside (loopback, private networks) only where somebody says so.
WEBHOOK_PRIVATE = env_bool("WEBHOOK_PRIVATE")

# The server that `up` starts tells open event streams to end through this function, by name.
SHUTDOWN_HOOK = "contextviz.live.shutdown.run_all"

# ---- logs ------------------------------------------------------------------------------------------------------------
LOG_LEVEL = env_str("LOG_LEVEL", "INFO").upper()
if LOG_LEVEL not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
    raise ImproperlyConfigured(f"{PREFIX}LOG_LEVEL is {LOG_LEVEL!r}; write DEBUG, INFO, WARNING or ERROR.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "contextviz": {"level": LOG_LEVEL},
        # How long things took is for whoever looks into it, not for everybody's terminal.
        "contextviz.timing": {"level": "INFO" if DEBUG or LOG_LEVEL == "DEBUG" else "WARNING"},
        # A 404 or a refused Host is the visitor's matter, not a line in the operator's log.
        "django.request": {"level": "ERROR"},
        "psycopg.pool": {"level": "ERROR"},  # what does not answer is said once, by whoever needed it
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
