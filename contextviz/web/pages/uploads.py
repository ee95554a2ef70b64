"""What is said about a file that was sent."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """One file of an upload, as static/js/elements/cv-upload.js and the Library's notices show it."""

    # The file's name as the sender wrote it, at most 400 characters
    name: str
    # Whether its bytes are kept
    ok: bool
    # What became of it and what comes next
    sentence: str
    # The job that reads it, None where it was refused
    job_url: str | None = None
    # The session it was read into, where that is known already
    session_url: str | None = None

    def at(self, job_url: str, session_url: str | None) -> UploadAnswer:
        """The same with where to go next."""
        return replace(self, job_url=job_url, session_url=session_url)


def answer_kept(name: str, *, is_known: bool) -> UploadAnswer:
    """A file that is kept."""
    short = name[-400:]
    if is_known:
        return UploadAnswer(short, True, f"{short} was sent before; it is looked at again, and nothing is doubled.")
    return UploadAnswer(short, True, f"{short} has arrived and is being read.")


def answer_refused(name: str, sentence: str) -> UploadAnswer:
    """A file that is not kept."""
    return UploadAnswer(name[-400:], False, sentence)
