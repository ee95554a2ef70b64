#!/usr/bin/env python3
"""The one entry: `python3 manage.py up` and `python3 manage.py test` on a bare machine, and every other command.

Started by a system Python, it first makes `.venv` from the hash-pinned lock file and runs itself again in there.
This part uses the standard library only, and works on a Python that is too old far enough to say so.
Inside a virtual environment, or with CONTEXTVIZ_NO_BOOTSTRAP set, it starts the command at once.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, ".stamp")
PYTHON = os.path.join(VENV, "bin", "python")
RUNTIME_LOCK = os.path.join(ROOT, "requirements.lock")
DEV_LOCK = os.path.join(ROOT, "requirements-dev.lock")  # the runtime lock and the test tools
DEV_COMMANDS = {"test", "makemigrations"}  # and `setup --dev`, which only sets up
OLDEST = (3, 11)


def stop(sentence: str) -> None:
    """End with one sentence for a person."""
    sys.exit("contextviz: " + sentence)


def digest(path: str) -> str:
    """The lock file's hash, together with the Python that its packages were chosen for."""
    with open(path, "rb") as stream:
        return "%d.%d %s" % (*sys.version_info[:2], hashlib.sha256(stream.read()).hexdigest())


def stamped() -> "list[str]":
    """What the virtual environment was made from: one line per lock file that it satisfies."""
    if not os.path.exists(STAMP) or not os.path.exists(PYTHON):
        return []
    with open(STAMP) as stream:
        return stream.read().splitlines()


def working_uv() -> "str | None":
    """The path of uv when it is there and runs (a version manager's stand-in may be there and not run)."""
    path = shutil.which("uv")
    if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
        return path
    return None


def make_environment(uv: "str | None") -> None:
    """An empty virtual environment; an old one is replaced."""
    if uv is None and (importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None):
        stop("this Python cannot make virtual environments; install them (Debian, Ubuntu: apt install python3-venv).")
    command = [sys.executable, "-m", "venv", "--clear", VENV] + (["--without-pip"] if uv else [])
    if subprocess.run(command).returncode != 0:
        stop("making .venv failed, see above; on Debian and Ubuntu `apt install python3-venv` usually helps.")


def install(lock: str) -> None:
    """Install the lock file's packages, every one checked against its hash."""
    uv = working_uv()
    lines = stamped()
    usable = any(line.startswith("%d.%d " % sys.version_info[:2]) for line in lines)
    if not uv and not os.path.exists(os.path.join(VENV, "bin", "pip")):
        usable = False  # made with uv, which is gone now
    if os.path.exists(STAMP):
        os.remove(STAMP)  # from here until the end it is not known to be whole
    sys.stderr.write("Setting up .venv from %s (first start or changed packages; " % os.path.basename(lock))
    sys.stderr.write("about half a minute) …\n")
    if not usable:
        make_environment(uv)
    if uv:
        command = [uv, "pip", "install", "--quiet", "--python", PYTHON, "--require-hashes", "-r", lock]
    else:
        command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        command += ["--require-hashes", "-r", lock]
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    if subprocess.run(command, env=environment).returncode != 0:
        stop("installing the packages failed, see above; check the network, then run the same command again.")
    satisfied = [RUNTIME_LOCK] if lock == RUNTIME_LOCK else [RUNTIME_LOCK, DEV_LOCK]
    with open(STAMP, "w") as stream:
        stream.write("".join(digest(path) + "\n" for path in satisfied))


def bootstrap() -> None:
    """Make or refresh `.venv` when needed, then run the same command in it; does not return."""
    if sys.version_info[:2] < OLDEST:
        stop("Python %d.%d or newer is needed, this is %s; install a newer one." % (*OLDEST, sys.version.split()[0]))
    needs_tools = (sys.argv[1:2] and sys.argv[1] in DEV_COMMANDS) or sys.argv[1:] == ["setup", "--dev"]
    lock = DEV_LOCK if needs_tools else RUNTIME_LOCK
    if digest(lock) not in stamped():
        install(lock)
    # The packages came without byte code, to install faster; unless the first start may keep it, each takes 2 s longer.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.execv(PYTHON, [PYTHON, os.path.join(ROOT, "manage.py"), *sys.argv[1:]])


def main() -> None:
    """Bootstrap outside a virtual environment; inside one, run the command."""
    is_setup = sys.argv[1:2] == ["setup"]
    # Somebody's own environment is respected, except by `setup`, which is about `.venv` alone.
    is_outside = sys.prefix == sys.base_prefix or (is_setup and os.path.realpath(sys.prefix) != os.path.realpath(VENV))
    if is_outside and not os.environ.get("CONTEXTVIZ_NO_BOOTSTRAP"):
        bootstrap()
    if is_setup:
        return
    from contextviz.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
