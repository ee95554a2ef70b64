"""A real worker that halts for good in the middle of one job: `slow_worker.py WHERE FOLDER [worker options]`.

It writes FOLDER/halted first, so that the test knows when to kill it; a worker that finds that file does not halt.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import django

# Module, attribute, and at which call to halt. Each is in the middle: something is done already, something is not.
PLACES = {
    "digest-reading": ("contextviz.store.texts", "write_pack", 2),
    "digest-saving": ("contextviz.store.writes", "replace", 5),
    "digest-between-sessions": ("contextviz.services.digest.reading", "save_transcript", 2),
    "expand": ("contextviz.services.expand", "graph", 1),
    "retrieve": ("contextviz.services.retrieve", "_proved", 1),
    "replay": ("contextviz.engines.recording", "Recorder.call", 60),
    "replay-saving": ("contextviz.store.runs", "_save_texts", 1),
    "delete": ("contextviz.services.delete", "_remove_texts", 1),
}


def main(where: str, folder: Path, arguments: list[str]) -> None:
    django.setup()
    module_name, name, at_call = PLACES[where]
    owner: Any = import_module(module_name)
    *path, name = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    setattr(owner, name, _halting(getattr(owner, name), folder / "halted", at_call))
    import_module("contextviz.cli.worker_process").run(arguments)


def _halting(real: Callable[..., Any], mark: Path, at_call: int) -> Callable[..., Any]:
    calls = [0]

    def halted(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == at_call and not mark.exists():
            mark.write_text("")
            time.sleep(3600)
        return real(*args, **kwargs)

    return halted


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
