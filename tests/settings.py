"""The product's settings on a throw-away data folder: nothing a test does can reach the user's own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_DATA = tempfile.mkdtemp(prefix="contextviz-tests-")
atexit.register(shutil.rmtree, _DATA, ignore_errors=True)
os.environ["CONTEXTVIZ_DATA_DIR"] = _DATA
os.environ.pop("CONTEXTVIZ_DEBUG", None)

from contextviz.settings import *  # noqa: E402, F403  # the folder had to be named first

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # a proper one makes a suite 20 times slower
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
