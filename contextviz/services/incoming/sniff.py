"""What is plainly not a transcript, by its first bytes, so that the answer comes at once.

Detection (sources.registry) has the last word when a file is read; this only turns away what no reader could take.
"""

from __future__ import annotations

from contextviz.sources.unpack import packing_of
from contextviz.store.artifacts import HEAD_BYTES

_KINDS = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"BZh", "a bzip2 archive (unpack it first)"),
    (b"\xfd7zXZ", "an xz archive (unpack it first)"),
    (b"7z\xbc\xaf", "a 7-Zip archive (unpack it first)"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"OggS", "a sound file"),
    (b"ID3", "a sound file"),
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SQLITE = b"SQLite format 3\x00"
_PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<svg")
READABLE = (
    "contextviz reads transcripts of OpenClaw, pi, Claude Code, Codex, OpenVole, Gemini CLI, OpenCode, OpenHands, "
    "Copilot CLI, Droid, Kiro, Cursor and others, exports of ChatGPT and claude.ai, request logs, OTLP files, stores "
    "and logs of lossless-claw, flowctx and Cortext, and conversation maps, also in zip, tar, gz and zst."
)


def refusal_of(name: str, head: bytes) -> str | None:
    """Why a file that begins with `head` cannot be a transcript, as a sentence; None where it may be one."""
    what = _kind_of(head)
    return None if what is None else f"{name} is {what}, not a transcript. {READABLE}"


def _kind_of(head: bytes) -> str | None:
    if head.startswith(_SQLITE) or head.startswith(_UTF16) or packing_of(head) is not None:
        return None
    for magic, what in _KINDS:
        if head.startswith(magic):
            return what
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    if start.startswith(_PAGES):
        return "a web page" if b"html" in start else "an XML document"
    return "a binary file" if _is_binary(head) else None


def _is_binary(head: bytes) -> bool:
    # Transcripts may hold NUL padding after a power cut, and UTF-16 without a mark is every other byte NUL; but then
    # the rest is text.
    sample = head.replace(b"\x00", b"")[:4096]
    if not sample:
        return len(head) < HEAD_BYTES  # nothing but padding in the whole file; in a longer one text may follow
    controls = sum(byte < 9 or 13 < byte < 32 for byte in sample)
    return controls / len(sample) > 0.05
