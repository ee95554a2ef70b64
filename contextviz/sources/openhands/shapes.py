"""What OpenHands' JSON looks like: events of both generations, evaluation rows, and the files beside events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

Json = Mapping[str, Any]
Generation = Literal["v0", "v1"]
Part = Literal["event", "row", "state", "metadata", "trajectory"]
SOURCES = frozenset({"user", "agent", "environment", "hook"})
# The SDK's event classes, by the word in `kind`; its later ones end the same way.
CONDENSATIONS = frozenset({"Condensation", "CondensationRequest"})
_KIND = re.compile(r"^[A-Z][A-Za-z0-9]{2,60}(?:Event|Observation)$")
# Events are numbered in their files' names: 12.json, event-00012-<id>.json, event_000012_<id>.json.
_NUMBERED = re.compile(r"^(?:event[-_])?(\d{1,12})(?:[-_.].*)?$")
# Pages of many events that the application keeps beside them, to be quicker.
CACHE_FOLDER = "event_cache"
EVENT_FOLDERS = ("events", CACHE_FOLDER)
LOOKED_AT = 5
# What an evaluation keeps of a run beside its instance; a row without events is known by so many of them.
ROW_KEYS = frozenset({"history", "test_result", "metadata", "metrics", "error"})
KEYS_OF_A_ROW = 3


def generation_of(value: Any) -> Generation | None:
    """Which generation an event is of: the application's (an action or an observation) or the SDK's (its class in
    `kind`); None for anything else."""
    event = as_dict(value)
    has_place = event.get("timestamp") is not None or event.get("id") is not None
    is_placed = has_place and as_text(event.get("source")) in SOURCES
    if not is_placed or "role" in event:
        return None
    kind = event.get("kind")
    if isinstance(kind, str):
        return "v1" if kind in CONDENSATIONS or _KIND.match(kind) else None
    return "v0" if is_bare_event(event) else None


def is_bare_event(value: Any) -> bool:
    """Whether an object is an action or an observation of the application, without asking whose and when: the oldest
    dumps do not say it."""
    event = as_dict(value)
    if isinstance(event.get("action"), str):
        return isinstance(event.get("args"), Mapping)
    return isinstance(event.get("observation"), str) and "content" in event and isinstance(event.get("extras"), Mapping)


def is_event(value: Any) -> bool:
    """Whether an object is an event of either generation."""
    return generation_of(value) is not None


def mostly(is_ours: Callable[[Any], bool], values: Sequence[Any]) -> bool:
    """Whether more than half of the first values are what `is_ours` says."""
    looked = values[:LOOKED_AT]
    return sum(map(is_ours, looked)) * 2 > len(looked)


def is_row(value: Any) -> bool:
    """Whether an object is one row of an evaluation's output by itself: an instance with its history of events, or one
    without a history that has most of what such a row holds."""
    row = as_dict(value)
    if not is_run(row):
        return False
    history = as_list(row.get("history"))
    return mostly(_is_of_history, history) if history else len(ROW_KEYS & row.keys()) >= KEYS_OF_A_ROW


def is_run(value: Any) -> bool:
    """Whether an object can be a row beside rows with events: an instance, and no other client's way of telling it."""
    row = as_dict(value)
    return as_id(row.get("instance_id")) is not None and "trajectory" not in row and "messages" not in row


def are_rows(records: Sequence[Any]) -> bool:
    """Whether most of the first records of a file are rows. Runs that failed early may have lost all but their name
    and error: they count where a row is beside them."""
    return any(map(is_row, records)) and sum(map(is_run, records)) * 2 > len(records)


def _is_of_history(value: Any) -> bool:
    if isinstance(value, list):
        return 0 < len(value) <= 2 and all(map(is_bare_event, value))
    return is_event(value) or is_bare_event(value)


def part_of(document: Json) -> Part | None:
    """What a file of one JSON object is to OpenHands; None where it is nothing of its."""
    if is_event(document):
        return "event"
    if is_row(document):
        return "row"
    trajectory = document.get("trajectory")
    if isinstance(trajectory, list) and mostly(is_event, trajectory):
        return "trajectory"
    if isinstance(document.get("agent"), Mapping) and as_id(document.get("id")) is not None:
        is_state = isinstance(document.get("workspace"), Mapping) and {"execution_status", "stats", "max_iterations",
                                                                      "agent_status"} & document.keys()  # fmt: skip
        return "state" if is_state else None
    is_metadata = as_id(document.get("conversation_id")) is not None and {"selected_repository", "created_at",
                                                                         "title"} <= document.keys()  # fmt: skip
    return "metadata" if is_metadata else None


def place_of(basename: str, document: Json | None) -> tuple[int, str]:
    """Where an event's file stands among those of its conversation: by the number in its name, else by its own."""
    found = _NUMBERED.match(basename.rpartition(".")[0])
    number = int(found.group(1)) if found is not None else as_int(as_dict(document).get("id"))
    written = as_text(as_dict(document).get("timestamp")) or ""
    return (2**62 if number is None else number, written or basename)


def folder_of(name: str) -> str:
    """The conversation's folder of a file: the one that `events` lies in, or the file's own."""
    folders = name.split("/")[:-1]
    return "/".join(folders[:-1] if folders and folders[-1] in EVENT_FOLDERS else folders)


def flattened(history: list[Any]) -> Iterator[tuple[Any, bool]]:
    """The events of a history in order, each with whether it is about the one before it: in the oldest dumps an action
    and its observation are a pair."""
    for one in history:
        if not isinstance(one, list):
            yield one, False
            continue
        for number, event in enumerate(one):
            yield event, number > 0


def model_of(holder: Any) -> str | None:
    """The model in an agent's or an evaluation's settings, the only thing of them that is looked at."""
    settings = as_dict(holder)
    for key in ("llm", "llm_config"):
        name = as_text(as_dict(settings.get(key)).get("model"))
        if name:
            return name
    return None


def texts_of(content: Any) -> list[str]:
    """The texts of a list of content parts, or the text itself."""
    parts = content if isinstance(content, list) else [content]
    found = [one if isinstance(one, str) else as_text(as_dict(one).get("text")) for one in parts]
    return [text for text in found if text]


def images_of(value: Any) -> list[str]:
    """Addresses of images that an event or a part of it holds."""
    holder = as_dict(value)
    return [one for key in ("image_urls", "images_urls") for one in as_list(holder.get(key)) if isinstance(one, str)]
