"""Reads agents' configurations: openclaw.json, pi's settings and models, vole.config.json, Codex's config.toml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Configuration, SourceFile
from contextviz.sources.configuration.document import MOST_BYTES, OTHER, Loaded, configuration, load, may_be
from contextviz.sources.features import Declaration
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions

FORMAT = "configuration"
NAMES = {"openclaw": "OpenClaw", "openvole": "OpenVole", "pi": "pi", "codex": "Codex"}
# How a line begins that stands in an archive in place of a file that was not kept (services.incoming.configuration).
LEFT_OUT = b"contextviz kept nothing of this file: "
MOST_REASON_BYTES = 400
NOTHING = "a configuration or a list of keys; nothing of it is read"


class ConfigurationReader:
    """The reader of configurations. They are no sessions: what is allowed of them is given to the sessions beside."""

    name = FORMAT
    declares: dict[str, Declaration] = {}  # it gives no sessions

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect; by name for the files that are known, by shape for others."""
        if probe.head.startswith(LEFT_OUT) and probe.size <= len(LEFT_OUT) + MOST_REASON_BYTES:
            return Detection(FORMAT, "ignored", probe.head.removeprefix(LEFT_OUT).decode("utf-8", errors="replace"))
        loaded = _loaded(probe)
        if loaded is None:
            return None
        if loaded.agent == OTHER:
            return Detection(FORMAT, "ignored", NOTHING)
        return Detection(FORMAT, "index", _reason(loaded))

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read: a SourceFile for each, and a problem for each that cannot be read."""
        for found in files:
            probe, detection = found.probe, found.detection
            yield SourceFile(probe.name, FORMAT, detection.role, False, detection.reason, probe.size)
            loaded = _loaded(probe)
            if loaded is not None and loaded.problem is not None:
                text = f"{probe.name} was not used: {loaded.problem}"
                yield ReadProblem("unreadable_configuration", text, "warning", probe.name)


def left_out(why: str) -> bytes:
    """What stands in an archive in place of a file that nobody reads: a line with the reason, which is told again."""
    return LEFT_OUT + why.encode("utf-8", errors="replace")[:MOST_REASON_BYTES]


def configurations(files: Sequence[Found]) -> list[Configuration]:
    """What the configurations among `files` say, each by itself."""
    loaded = ((found.probe.name, _loaded(found.probe)) for found in files if found.detection.role == "index")
    return [configuration(name, one) for name, one in loaded if one is not None and one.problem is None]


def _reason(loaded: Loaded) -> str:
    what = f"{NAMES[loaded.agent]}'s configuration"
    if loaded.problem is not None:
        return f"{what}, which could not be read"
    return f"{what}: settings of its context that are used: {len(loaded.kept)}; others, not kept: {loaded.left_out}"


def _loaded(probe: Probe) -> Loaded | None:
    if probe.tables is not None or len(probe.records) > 1 or not may_be(probe.name, probe.size):
        return None
    if probe.size <= len(probe.head):
        return load(probe.name, probe.head)
    try:
        with probe.path.open("rb") as raw:
            return load(probe.name, raw.read(MOST_BYTES + 1))
    except OSError:
        return None
