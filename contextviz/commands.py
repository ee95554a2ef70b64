"""What this program's commands are called where it was started, for sentences that tell people to run one.

Installed it is `contextviz up`, in a checkout `python3 manage.py up`: there no `contextviz` is on the PATH. Every floor
may ask, so nothing is imported here.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

SCRIPT = "manage.py"


def command(words: str) -> str:
    """A command as people type it, for pages and answers: `words` are what follows the program's name. In a checkout it
    is run in the checkout's folder, which is not told: a page may be shown to somebody who is not signed in."""
    return f"python3 {SCRIPT} {words}" if _script() else f"contextviz {words}"


def command_here(words: str) -> str:
    """The same for the terminal that the program was started in: with the place of the script, where that is another
    folder than the terminal's."""
    script = _script()
    if script is None or script.parent == _folder():
        return command(words)
    return f"python3 {shlex.quote(str(script))} {words}"


def _script() -> Path | None:
    """The checkout's script, None where the program is installed."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    return started.absolute() if started.name == SCRIPT else None


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed meanwhile
        return None
