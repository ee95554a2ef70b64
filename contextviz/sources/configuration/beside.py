"""Which configuration belongs to which session: the nearest one above it, of the program that wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Configuration, Transcript

_NUMBERED = re.compile(r"^\d{1,4}/")
# The formats that each program writes.
WRITTEN_BY = {
    "openclaw": frozenset({"openclaw", "openclaw-sqlite", "lossless-claw", "flowctx"}),
    "openvole": frozenset({"openvole"}),
    "pi": frozenset({"pi"}),
    "codex": frozenset({"codex"}),
}


def configure(transcript: Transcript, found: Sequence[Configuration]) -> None:
    """Give a transcript the configuration beside it. The files of one program in one folder are one configuration.

    Where several stand at the same distance nothing says which was in force: none is taken, and a problem tells it.
    """
    mine = [one for one in found if transcript.session.format in WRITTEN_BY.get(one.agent, ())]
    if not mine or not transcript.files:
        return
    chosen = _nearest(mine, transcript.files[0])
    bases = [one.files[0].rpartition("/")[2] for one in chosen]
    if not chosen or len(set(bases)) < len(bases):
        names = ", ".join(sorted(name for one in mine for name in one.files)[:3])
        text = (
            f"several configurations came with this session ({names}); nothing says which was in force, so none is used"
        )
        transcript.problems.append(ReadProblem("several_configurations", text, "info", transcript.files[0]))
        return
    transcript.session.configuration = _joined(chosen)
    transcript.files.extend(name for one in chosen for name in one.files if name not in transcript.files)


def _nearest(mine: Sequence[Configuration], file: str) -> list[Configuration]:
    """Those in the folder that is nearest above `file`; where none is above it, those of the one folder there is."""
    folders = {_folder(one) for one in mine}
    above = [folder for folder in folders if file.startswith(folder)]
    if not above and len(folders) > 1:
        return []
    nearest = max(above, key=len) if above else next(iter(folders))
    return [one for one in mine if _folder(one) == nearest]


def _folder(one: Configuration) -> str:
    # Files of one name that came together are told apart by a number in front.
    name = _NUMBERED.sub("", one.files[0])
    return name.rpartition("/")[0] + "/" if "/" in name else ""


def _joined(found: Sequence[Configuration]) -> Configuration:
    return Configuration(
        agent=found[0].agent,
        files=tuple(name for one in found for name in one.files),
        engine=next((one.engine for one in found if one.engine), None),
        settings={key: value for one in found for key, value in one.settings.items()},
        windows={key: value for one in found for key, value in one.windows.items()},
        left_out=sum(one.left_out for one in found),
    )
