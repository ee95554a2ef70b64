"""The door of every command: `contextviz …` when installed, `manage.py …` in a checkout.

Nothing is imported before it is known to be needed: `inspect` and its like run on the pure floors, without Django.
"""

from __future__ import annotations

import os
import select
import sys
from importlib import import_module, util
from typing import TextIO

from contextviz.commands import SCRIPT, command

# Commands on files: a module with `main(arguments: list[str]) -> int`, which must not import Django.
PURE_COMMANDS = {
    "inspect": "contextviz.cli.inspect",
    "replay": "contextviz.cli.replay.command",
    "score": "contextviz.cli.replay.scoring",
}

# Their exit status is a judgement; a check that was not made to its end has not passed.
VERDICTS = {"score", "doctor", "check", "healthcheck", "test"}
CUT_OFF = 141  # like a program that the system ended because nobody read on

USAGE = f"""\
usage: {command("COMMAND [options]")}

  up                     start everything: web server and worker, on 127.0.0.1
  demo                   load the demo session
  import PATH…           read transcripts, stores or folders into the library
  watch [PATH…]          follow files and folders; without PATH agents' homes
  export SESSION         write a session as JSON, Markdown or HTML, secrets masked
  inspect PATH… [--json] read files and print what is in them; no database, no server
  replay PATH… --engine  run a session by another context engine; no database
  score PATH… --engine   hold replays against thresholds, for CI
  sign-in                print a fresh sign-in address
  api-key ACTION         create, list or revoke keys of the API
  createuser NAME        make an account with a password
  backup FILE            copy a running installation into one file
  restore FILE           bring a backup into an empty data folder
  worker                 run one more worker by itself
  web                    run one web server by itself
  healthcheck PART       whether the web server or a worker of this machine is well
  doctor                 look for problems, each with what to do
  check                  check the settings

{command("COMMAND --help")} explains one command; {command("help")} lists the rest.
"""


def run_tests(arguments: list[str]) -> int:
    """Run pytest with the arguments; the tests live in the checkout."""
    if util.find_spec("pytest") is None:
        print(
            f"contextviz: the test tools are not installed; run `python3 {SCRIPT} test` in a checkout.", file=sys.stderr
        )
        return 2
    status: int = import_module("pytest").main(arguments)
    return int(status)


def run_django(arguments: list[str]) -> int:
    """Run a management command; a wrong setting is one sentence, not a traceback."""
    if util.find_spec("django") is None:
        print(
            "contextviz: its packages are not in this virtual environment; leave it (deactivate) and run the same "
            "command again, or install them: pip install --require-hashes -r requirements.lock",
            file=sys.stderr,
        )
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextviz.settings")
    management = import_module("django.core.management")
    exceptions = import_module("django.core.exceptions")
    try:
        # The first is the program's name in what --help says.
        management.execute_from_command_line([command("").strip(), *arguments])
    except exceptions.ImproperlyConfigured as error:
        print(f"contextviz: {error}", file=sys.stderr)
        return 2
    except import_module("django.db").OperationalError:
        sentence = import_module("contextviz.cli.database").unreachable()
        if not sentence:
            raise  # it answers, so something else is the matter
        print(f"contextviz: {sentence}", file=sys.stderr)
        return 1
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name, and print all that it printed; the process's exit status.

    Where whoever read our output (head, less) has seen enough, the command ends without a word and the rest is thrown
    away. The status is the command's if it was done; else 0, or CUT_OFF where it would have been a verdict. A pipe that
    breaks elsewhere is an error as ever.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    status, ending = CUT_OFF if given and given[0] in VERDICTS else 0, None
    try:
        try:
            status = run_command(given)
        except SystemExit as ended:
            ending, status = ended, ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        gone = [stream for stream in (sys.stdout, sys.stderr) if has_no_reader(stream)]
        if not gone:
            raise
        for stream in gone:
            # Python flushes once more when it ends; that must not fail either.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        ending = None
    if ending is not None:
        raise ending
    return status


def has_no_reader(stream: TextIO) -> bool:
    """Whether a stream is a pipe or a socket that nobody reads any more."""
    look = select.poll()
    try:
        look.register(stream.fileno(), 0)
    except (OSError, ValueError):  # no file is behind it, as in a test
        return False
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in look.poll(0))


def run_command(given: list[str]) -> int:
    """Run the command that the arguments name; its exit status."""
    if not given or given[0] in {"-h", "--help"}:
        print(USAGE, end="")
        return 0 if given else 2
    if given[0] in {"--version", "version"}:
        print(import_module("contextviz").__version__)
        return 0
    if given[0] == "test":
        return run_tests(given[1:])
    if given[0] in PURE_COMMANDS:
        status: int = import_module(PURE_COMMANDS[given[0]]).main(given[1:])
        return status
    # A command's module cannot have a dash in its name, what people type can.
    return run_django([given[0].replace("-", "_"), *given[1:]])
