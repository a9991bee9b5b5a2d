"""Settings, each read from an environment variable that starts with `DRA_CONSOLE_`.

There is no demo mode in here: the demo sets other addresses and nothing else
(docs/architecture.md). A missing secret key or database stops the process at
once with the variable's name.
"""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import structlog
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from dra_console.schedules import Every

BASE_DIR = Path(__file__).resolve().parent.parent


def _setting(name: str, default: str | None = None) -> str:
    """Read `DRA_CONSOLE_<name>`, or the file that `DRA_CONSOLE_<name>_FILE` points at."""
    variable = f"DRA_CONSOLE_{name}"
    if path := os.environ.get(f"{variable}_FILE"):
        return Path(path).read_text(encoding="utf-8").strip()
    value = os.environ.get(variable, default)
    if value is None:
        raise ImproperlyConfigured(f"set {variable}, or {variable}_FILE to a file that holds it")
    return value


def _words(name: str, default: str = "") -> list[str]:
    return [word for word in _setting(name, default).replace(",", " ").split() if word]


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "dra_console.sqlite",
            "NAME": unquote(parts.path),
            "OPTIONS": {
                # Writers wait at BEGIN instead of failing in mid-transaction.
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # 32 MB of log before it is copied back: a first list writes over 100 MB, and
                # indexes write the same pages again and again.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                " PRAGMA wal_autocheckpoint=8000;",
            },
        }
    if parts.scheme in {"postgres", "postgresql"}:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.lstrip("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": str(parts.port or ""),
            "CONN_HEALTH_CHECKS": True,
        }
    raise ImproperlyConfigured(
        f"DRA_CONSOLE_DATABASE_URL: expected sqlite:// or postgresql://, got {parts.scheme}://"
    )


DEBUG = _setting("DEBUG", "false") == "true"
SECRET_KEY = _setting("SECRET_KEY")
ALLOWED_HOSTS = _words("ALLOWED_HOSTS", "127.0.0.1 localhost")
ALLOWED_ORIGINS = _words("ALLOWED_ORIGINS", "http://127.0.0.1:8000")
CSRF_TRUSTED_ORIGINS = ALLOWED_ORIGINS
REDIS_URL = _setting("REDIS_URL", "redis://127.0.0.1:6379/0")
AGENT_TOKEN_AUDIENCE = _setting("AGENT_TOKEN_AUDIENCE", "dra-console")
AGENT_USERNAME = _setting("AGENT_USERNAME", "system:serviceaccount:dra-console:dra-nodeagent")

DATABASES = {"default": _database(_setting("DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "dra_console.mirror",
    "dra_console.access",
    "dra_console.telemetry",
    "dra_console.sync",
    "dra_console.scheduling",
    "dra_console.provisioning",
    "dra_console.api",
    "dra_console.web",
    "dra_console.live",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dra_console.web.cluster_choice.cluster_in_path",
    # No anonymous mode: every page but health and login needs an identity.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "dra_console.urls"
ASGI_APPLICATION = "dra_console.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dra_console.web.navigation.navigation",
            ],
        },
    },
]

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "cache",
    },
}

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "web:overview"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

# Absolute: the script prefix changes with the cluster that a page is about.
STATIC_URL = "/static/"
STATIC_ROOT = Path(_setting("STATIC_ROOT", str(BASE_DIR / "static_collected")))
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
HTTPS = _setting("HTTPS", "false") == "true"
SESSION_COOKIE_NAME = "__Host-session" if HTTPS else "dra_console_session"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
CSRF_COOKIE_NAME = "__Host-csrf" if HTTPS else "dra_console_csrf"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "worker-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "capacity": 100},
    },
}

# How long devices may take to be prepared before a pod is bound; kube-scheduler's default.
BINDING_TIMEOUT_SECONDS = int(_setting("BINDING_TIMEOUT_SECONDS", "600"))

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "dra_console.sync.*": {"queue": "sync"},
    # Look at everything; allocation does not wait behind them.
    "dra_console.scheduling.tasks.explain_for_cluster": {"queue": "default"},
    "dra_console.scheduling.coexistence.*": {"queue": "default"},
    "dra_console.scheduling.*": {"queue": "schedule"},
}
# Threads: windows end with the worker, which a process of a pool would not hear of. Each
# followed kind keeps one busy, nine for each cluster; scheduling and the rest need some, too.
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = int(_setting("WORKER_THREADS", "48"))
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False  # structlog writes there, and each line is one event
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 600,
    # A Redis that went away without a word must not hold a beat or a worker for ever.
    "socket_timeout": 15,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
}
CELERY_BEAT_SCHEDULE = {
    # Expires with the next one: a worker that was away finds one to do, not hundreds.
    "open missing watch windows": {
        "task": "dra_console.sync.tasks.ensure_windows",
        "schedule": Every(5.0),
        "options": {"expires": 5},
    },
    "ask API servers how they are": {
        "task": "dra_console.sync.tasks.probe_clusters",
        "schedule": Every(30.0),
        "options": {"expires": 30},
    },
    "schedule what a lost signal left waiting": {
        "task": "dra_console.scheduling.tasks.sweep",
        "schedule": Every(10.0),
        "options": {"expires": 10},
    },
    "look for conflicts that a lost signal left unseen": {
        "task": "dra_console.scheduling.coexistence.tasks.sweep_for_conflicts",
        "schedule": Every(10.0),
        "options": {"expires": 10},
    },
    "forget old history": {
        "task": "dra_console.sync.tasks.forget_history",
        "schedule": Every(3600.0),
        "options": {"expires": 3600},
    },
    "forget ended sessions": {
        "task": "dra_console.access.tasks.forget_ended_sessions",
        "schedule": Every(3600.0),
        "options": {"expires": 3600},
    },
    "record held and used devices": {
        "task": "dra_console.telemetry.tasks.record_held_and_used_devices",
        "schedule": Every(15.0),
        "options": {"expires": 15},
    },
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "dra_console.access.authentication.BearerTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "dra_console.api.problems.exception_handler",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "DRA Console",
    "DESCRIPTION": "GPU allocation with Kubernetes Dynamic Resource Allocation.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    # Two serializers have it, and a name made up of a digest would change with the choices.
    "ENUM_NAME_OVERRIDES": {"DeviceStateEnum": "dra_console.api.devices.STATES"},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": _setting("LOG_LEVEL", "INFO")},
}

# As structlog does by default, but for tracebacks: where rich is installed, those show the
# variables of each frame, which takes seconds and may put an object of a user into the log.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.set_exc_info,
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)
