"""The door of ingest: everything that callers need, in one place.

An upload: open_batch → (announce) → receive for each file → finish_batch → tasks.enqueue on commit → digest.
An import: import_paths → tasks.enqueue on commit → digest, which collects first.
"""

from __future__ import annotations

from contextviz.services.digest import digest
from contextviz.services.digest.collecting import FoundHome, NothingThere, discover_homes, import_paths, refresh
from contextviz.services.receive import (
    EmptyUpload,
    NotAFile,
    NotATranscript,
    ReceivedArtifact,
    UnknownBatch,
    UploadRefused,
    UploadTooLarge,
    announce,
    dismiss,
    finish_batch,
    make_private,
    open_batch,
    receive,
    sweep_incoming,
)

__all__ = [
    "EmptyUpload",
    "FoundHome",
    "NotAFile",
    "NotATranscript",
    "NothingThere",
    "ReceivedArtifact",
    "UnknownBatch",
    "UploadRefused",
    "UploadTooLarge",
    "announce",
    "digest",
    "discover_homes",
    "dismiss",
    "finish_batch",
    "import_paths",
    "make_private",
    "open_batch",
    "receive",
    "refresh",
    "sweep_incoming",
]
