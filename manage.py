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

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # Windows
    HAS_LOCKS = False

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, ".stamp")
LOCK = os.path.join(ROOT, ".venv.lock")  # beside it, since setting up may empty the folder
PYTHON = os.path.join(VENV, "bin", "python")
RUNTIME_LOCK = os.path.join(ROOT, "requirements.lock")
DEV_LOCK = os.path.join(ROOT, "requirements-dev.lock")  # the runtime lock and the test tools
DEV_COMMANDS = {"test", "makemigrations"}  # and `setup --dev`, which only sets up
OLDEST = (3, 11)
# What a failed command printed → why it failed and what helps; the first that is in it counts.
FULL = (("no space left on device", "disk quota exceeded"), "the disk is full; make room")
VENV_CAUSES = (
    FULL,
    (("ensurepip is not available", "no module named ensurepip", "no module named venv"),
     "this Python cannot make virtual environments; install them (Debian, Ubuntu: apt install python3-venv)"),
    (("text file busy", "directory not empty", "resource busy", "being used by another process"),
     "its files are in use; end what runs from it (up, worker, an editor's terminal)"),
    (("permission denied", "read-only file system"), "its folder cannot be written; look at whose it is"),
)  # fmt: skip
INSTALL_CAUSES = (
    FULL,
    (("do not match the hashes", "hash mismatch"),
     "a package is not the one that the lock file names; look at the index or proxy that it came from"),
    (("connection", "timed out", "dns error", "name resolution", "failed to fetch", "certificate", "proxy error"),
     "the packages could not be fetched; check the network"),
    (("text file busy", "being used by another process"),
     "files of .venv are in use; end what runs from it (up, worker, an editor's terminal)"),
    (("permission denied", "read-only file system"), "files of .venv cannot be written; look at whose they are"),
)  # fmt: skip


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


def ran(command: "list[str]", causes: "tuple[tuple[tuple[str, ...], str], ...]", **more: "dict[str, str]") -> str:
    """Run a command whose output is for people who look for a fault; the sentence on why it failed, "" where it did
    not."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more
    )  # type: ignore[call-overload]
    sys.stderr.write(done.stdout or "")
    if done.returncode == 0:
        return ""
    said = (done.stdout or "").lower()
    for words, sentence in causes:
        if any(word in said for word in words):
            return sentence
    return "the last lines above say why"


def make_environment(uv: "str | None") -> None:
    """An empty virtual environment; an old one is replaced, and that is said."""
    if uv is None and (importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None):
        stop("this Python cannot make virtual environments; install them (Debian, Ubuntu: apt install python3-venv).")
    if os.path.isdir(VENV) and os.listdir(VENV):
        sys.stderr.write("The .venv that was there is made anew; packages installed into it by hand are gone.\n")
    command = [sys.executable, "-m", "venv", "--clear", VENV] + (["--without-pip"] if uv else [])
    why = ran(command, VENV_CAUSES)
    if why:
        stop("making .venv failed: %s, then run the same command again." % why)


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
    why = ran(command, INSTALL_CAUSES, env=environment)
    if why:
        stop("installing the packages failed: %s, then run the same command again." % why)
    satisfied = [RUNTIME_LOCK] if lock == RUNTIME_LOCK else [RUNTIME_LOCK, DEV_LOCK]
    with open(STAMP, "w") as stream:
        stream.write("".join(digest(path) + "\n" for path in satisfied))


def locked() -> "int | None":
    """Wait until no other command sets `.venv` up, then keep others from it until the lock is closed.

    None where there are no such locks (Windows, some network drives, a checkout that cannot be written): then without.
    """
    if not HAS_LOCKS:
        return None
    try:
        handle = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.stderr.write("contextviz: another command is setting up .venv; waiting …\n")
        sys.stderr.flush()
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        os.close(handle)
        return None
    return handle


def set_up(lock: str) -> None:
    """Bring `.venv` to what the lock file says, one command at a time; nothing where it is so."""
    if digest(lock) in stamped():
        return  # the stamp goes before anything is changed and comes back last: with it, `.venv` is whole
    handle = locked()
    try:
        if digest(lock) not in stamped():  # another command may have done it meanwhile
            install(lock)
    finally:
        if handle is not None:
            os.close(handle)


def bootstrap() -> None:
    """Make or refresh `.venv` when needed, then run the same command in it; does not return."""
    if sys.version_info[:2] < OLDEST:
        stop("Python %d.%d or newer is needed, this is %s; install a newer one." % (*OLDEST, sys.version.split()[0]))
    needs_tools = (sys.argv[1:2] and sys.argv[1] in DEV_COMMANDS) or sys.argv[1:] == ["setup", "--dev"]
    lock = DEV_LOCK if needs_tools else RUNTIME_LOCK
    set_up(lock)
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
