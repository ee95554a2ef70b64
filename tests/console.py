"""A Python that has a stack's Django set up and runs code in it, so that each question costs no start of its own.

Code runs in a fork: as in a process that was started for it, nothing that it imports, caches or opens is left to the
next. Only what tests ask goes this way; the product's own commands are always started as people start them.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from typing import IO, NoReturn

LONGEST_SECONDS = 120.0


class Console:
    """The process beside a test. `environment` is what it was started with."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = dict(environment)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.console"], env=environment, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, code: str) -> tuple[int, str, str]:
        """Run the code to its end: the exit status (as os.waitstatus_to_exitcode has it), what it printed, what it
        complained of."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], LONGEST_SECONDS)[0]:
            self.close()
            raise AssertionError(f"the code did not end within {LONGEST_SECONDS:.0f} seconds:\n{code}")
        answer = self._process.stdout.readline()
        assert answer, f"the console ended, see above; the code was:\n{code}"
        status, out, err = json.loads(answer)
        return int(status), str(out), str(err)

    def close(self) -> None:
        """End it, and whatever it still runs."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def serve() -> None:
    """Answer a line of code with a line of what came of it, until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            child = os.fork()
            if child == 0:
                _run(json.loads(line), out, err)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            told = []
            for stream in (out, err):
                stream.seek(0)
                told.append(stream.read())
        answers.write(json.dumps([status, *told]) + "\n")
        answers.flush()


def _run(code: str, out: IO[str], err: IO[str]) -> NoReturn:
    """Never returns: the fork ends here, without what its parent does at its end."""
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    status = 0
    try:
        exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    import django

    django.setup()
    serve()
