"""Getting an original back: by its hash, the beginning of it, or a marker that names it; and proving that it is it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from contextviz.events.artefacts.markers import find_markers
from contextviz.events.text import HANDLE_LENGTH
from contextviz.services.jobs import JobFailed, JobRun, open_job, perform
from contextviz.store.queries import messages, texts
from contextviz.store.texts import TextReader
from contextviz.store.values import TextPlace
from contextviz.store.viewing import viewer_of_id, viewing

MOST_QUERY_CHARS = 200_000
MOST_HANDLES = 50
MOST_SESSIONS = 20
_HEX = re.compile(r"^[0-9a-f]+$")
_ASKED = re.compile(r'flowctx_retrieve\(hash="([^"\n]{0,80})"')
# Ids of lossless-claw's own store (engines.md 7.3): no hashes, and what they name is in no transcript.
_STORE_ID = re.compile(r"^(?:file|sum)_[0-9A-Za-z]{1,64}$")
_SCRUBBED = re.compile(r"^(\[?redacted\]?|\*{3,}|x{6,}|<[^>]*>)?$", re.IGNORECASE)
OF_STORE = {
    "file": "the engine keeps what it put aside in a file beside its store, which is no part of any transcript.",
    "sum": "open the Graph of the session that its lcm.db was imported with.",
}


def open_retrieve(query: str, *, now: datetime, session_id: int | None = None) -> UUID:
    """A job that looks up `query`: a hash, at least 6 of its first digits, or text with a marker in it."""
    params = {"query": query.replace("\x00", "")[:MOST_QUERY_CHARS]}
    return open_job("retrieve_original", now=now, params=params, session_id=session_id, is_private=True)


def retrieve_original(job_id: UUID | str) -> bool:
    """Do a retrieve job. Its result is `{query, originals: [...]}`, for each handle asked for `{handle, status,
    sha256, chars, size, estimated_tokens, original_chars, places: [{session_id, title, message_indexes}],
    candidates: [TextPlace]}`; status is verified, mismatch, missing, redacted or ambiguous."""
    return perform(job_id, _retrieve_for_asker)


def _retrieve_for_asker(run: JobRun) -> str:
    # Only in sessions that whoever asks may see; the result names them.
    with viewing(viewer_of_id(run.person_id)):
        return _retrieve(run)


def _retrieve(run: JobRun) -> str:
    asked = _handles_of(str(run.params["query"]))
    if not asked:
        raise JobFailed(
            "There is no hash in that. Paste a SHA-256, at least its first 6 digits, or a whole flowctx marker line.",
            can_retry=False,
        )
    run.progress(0, len(asked), force=True)
    found = []
    for number, (handle, original_chars) in enumerate(asked, start=1):
        found.append({**_look_up(handle), "original_chars": original_chars})
        run.progress(number, len(asked), force=True)
    run.result = {"query": str(run.params["query"])[:500], "originals": found}
    return _sentence(found)


def _handles_of(query: str) -> list[tuple[str, int | None]]:
    """What is asked for: each handle with the characters that its marker says the original has."""
    plain = query.strip().strip("\"'`…. ").removeprefix("sha256:").lower()
    if 6 <= len(plain) <= 64 and _HEX.match(plain):
        return [(plain, None)]
    if _STORE_ID.match(query.strip()):
        return [(query.strip(), None)]
    asked: dict[str, int | None] = {}
    for marker in find_markers(query):
        asked.setdefault(marker.handle, marker.original_chars)
    for handle in _ASKED.findall(query):
        asked.setdefault(handle.rstrip("….").lower(), None)
    return list(asked.items())[:MOST_HANDLES]


def _look_up(handle: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"handle": handle, "status": "missing", "places": [], "candidates": []}
    if _SCRUBBED.match(handle):
        return answer | {"status": "redacted"}
    if _STORE_ID.match(handle):
        return answer
    places = texts.find_texts(handle)
    if not places:
        return answer
    if len(places) > 1:
        return answer | {"status": "ambiguous", "candidates": [asdict(place) for place in places]}
    return answer | _proved(places[0], handle)


def _proved(place: TextPlace, handle: str) -> dict[str, Any]:
    """The bytes fetched and hashed again: the badge says what they are now, not what a row claims."""
    digest = bytes.fromhex(place.sha256)
    data = TextReader().raw([digest]).get(digest)
    if data is None:
        return {"status": "missing"}
    again = hashlib.sha256(data).hexdigest()
    is_it = again == place.sha256 and again.startswith(handle)
    return {
        "status": "verified" if is_it else "mismatch",
        "sha256": place.sha256,
        "rehashed": again,
        "chars": place.chars,
        "size": len(data),
        "estimated_tokens": place.estimated_tokens,
        "places": [
            {
                "session_id": use.session_id,
                "title": use.title or use.source_id,
                "message_indexes": messages.indexes_with_text(use.session_id, place.sha256),
            }
            for use in texts.uses_of_text(place.sha256, limit=MOST_SESSIONS)
        ],
    }


def _sentence(found: list[dict[str, Any]]) -> str:
    if len(found) > 1:
        verified = sum(one["status"] == "verified" for one in found)
        return f"{verified} of {len(found)} originals found and verified."
    one = found[0]
    short = one["handle"][:HANDLE_LENGTH]
    if one["status"] == "missing" and _STORE_ID.match(one["handle"]):
        return f"{short} is an id of lossless-claw's own store and no hash: {OF_STORE[short.partition('_')[0]]}"
    if one["status"] == "verified":
        return f"Verified: the {one['chars']:,} characters behind {short} hash to it."
    sentences = {
        "mismatch": f"The bytes stored for {short} hash to something else: they are not the original.",
        "missing": f"Nothing that was read here has the hash {short}. Import the transcript that held the original.",
        "redacted": "The marker's hash was redacted, so it names nothing.",
        "ambiguous": f"Several texts begin with {short}: give more digits.",
    }
    return sentences[one["status"]]
