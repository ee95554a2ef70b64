"""Everything that goes into a copy passes here: every string of every record, keys too, is looked through.

One sieve looks (`Sieve(report)`): it notes what it finds. Another writes (`Sieve(report, decisions)`): it masks what
was decided, and raises ExportRefused for anything that was not, so that no new or missed value slips through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contextviz.analysis.disclosure import Finding, Neighbours, Split, apart, find, left, mask_of, text_key, without
from contextviz.events.text import TextRef
from contextviz.services.export.report import MOST_PLACES, Decisions, ExportRefused, Place, Report, parts_in

CONTEXT_CHARS = 48
VALUE_CHARS = 240
SHORT_CHARS = 400
MOST_REMEMBERED = 20_000
WITHHELD = "[text masked]"
# Ids, names and words of our own: nothing to look for.
_PLAIN = re.compile(r"[a-z_ -]{0,40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9T:.+Z-]{1,40}")
_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|pwd|secret|token(?!s|i)|api[_-]?key|access[_-]?key|private[_-]?key|credential"
    r"|authorization|cookie",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Body:
    """A text of the session in a record. `joins`: it follows the text before it, so a secret may go on in it."""

    text: str | None
    ref: TextRef | None
    where: str
    joins: bool = False


class Sieve:
    """Looks through records, or cleans them."""

    def __init__(
        self, report: Report, decisions: Decisions | None = None, *, estimator: str = "", is_unmasked: bool = False
    ) -> None:
        self.report = report
        self.estimator = estimator
        self._decisions = decisions
        self._is_unmasked = is_unmasked
        self._parts = parts_in(report.splits, decisions) if decisions else {}
        self._neighbours = Neighbours()
        self._plain: set[str] = set()
        self._bodies: set[bytes] = set()
        self.looked_bytes = 0  # of distinct texts

    def clean(self, value: Any, where: str) -> Any:
        """A record as it may leave: text bodies as objects, times as text, secrets masked as decided."""
        if isinstance(value, str):
            return self._text(value, where)[0]
        if isinstance(value, Body):
            return self._body(value)
        if isinstance(value, dict):
            names = {name: self._text(name, where)[0] for name in value}
            return {names[name]: self._named(names[name], one, where) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(one, where) for one in value]
        return value.isoformat() if isinstance(value, datetime) else value

    def _named(self, name: str, value: Any, where: str) -> Any:
        place = f"{where}, {name}"
        if isinstance(value, str) and len(value) >= 4 and _SECRET_NAME.search(name) and not self._is_unmasked:
            whole = [Finding(0, len(value), "password", "found")]
            return self._sifted(value, text_key(value), whole, place)[0]
        return self.clean(value, place)

    def _body(self, body: Body) -> dict[str, Any]:
        if body.text is None:
            return {"text": None, "sha256": None, "masked": 0, "tokens": {"count": None, "basis": "unknown"}}
        if body.joins and not self._is_unmasked:
            for split in self._neighbours.add(body.text, body.where):
                self._split(split, body.text)
        if body.ref and body.ref.digest not in self._bodies:
            self._bodies.add(body.ref.digest)
            self.looked_bytes += body.ref.size
        text, masked = self._text(body.text, body.where)
        tokens = body.ref.estimated_tokens if body.ref else None
        return {
            "text": text,
            # The hash of a text that is masked here would let its secret be guessed and proved.
            "sha256": body.ref.sha256 if body.ref and not masked else None,
            "masked": masked,
            "tokens": {"count": tokens, "basis": "estimated", "estimator": self.estimator},
        }

    def _text(self, text: str, where: str) -> tuple[str, int]:
        if self._is_unmasked or text in self._plain or _PLAIN.fullmatch(text):
            return text, 0
        key = text_key(text)
        parts = self._parts.get(key, [])
        if key in self.report.clean and not parts:
            return text, 0
        findings = find(text)
        if not findings and not parts:
            self.report.clean.add(key)
            if len(text) <= SHORT_CHARS and len(self._plain) < MOST_REMEMBERED:
                self._plain.add(text)
            return text, 0
        return self._sifted(text, key, findings, where, parts)

    def _sifted(
        self, text: str, key: str, findings: Sequence[Finding], where: str, parts: Sequence[Finding] = ()
    ) -> tuple[str, int]:
        masked, kept = list(parts), []
        for one in findings:
            place = f"{key}@{one.start}"
            if self._decisions is None:
                self._note(Place(place, one.kind, one.certainty, one.reason, where, _context(text, one, findings),
                                 text[one.start : one.end][:VALUE_CHARS]))  # fmt: skip
            decision = self._decisions.of(place) if self._decisions else None
            if decision is not None and decision.action == "keep":
                kept.append(text[one.start : one.end])
            elif one.certainty == "found" or decision is not None or self._decisions is None:
                masked.append(one)
            else:
                raise _changed(where)
        return self._checked(without(text, apart(masked)), key, where, kept), len(masked)

    def _checked(self, text: str, key: str, where: str, kept: Sequence[str]) -> str:
        """The masked text, once nothing in it looks like a secret any more but what was kept."""
        still = [one for one in left(text) if not _is_one_of(text[one.start : one.end], kept)]
        if not still:
            return text
        place = f"{key}@all"
        if self._decisions is None:
            reason = "still looks like a secret after masking; masking it takes the whole text"
            self._note(Place(place, still[0].kind, "suspected", reason, where, _context(text, still[0], still),
                             text[still[0].start : still[0].end][:VALUE_CHARS]))  # fmt: skip
            return text
        decision = self._decisions.of(place)
        if decision is None:
            # Where something was kept on purpose, the copy may show what the look through did not.
            raise _changed(where)
        return WITHHELD if decision.action == "mask" else text

    def _split(self, split: Split, text: str) -> None:
        place = f"{'+'.join(part.key for part in split.parts)}@{split.parts[0].start}"
        if self._decisions is not None:
            if self._decisions.of(place) is None or place not in self.report.splits:
                raise _changed(split.parts[-1].where)
            return
        own = split.parts[-1]
        where = " and ".join(dict.fromkeys(part.where for part in split.parts))
        finding = Finding(own.start, own.end, split.kind, "suspected")
        noted = Place(place, split.kind, "suspected", split.reason, where, _context(text, finding, [finding]),
                      text[own.start : own.end][:VALUE_CHARS])  # fmt: skip
        if self._note(noted):
            self.report.splits[place] = split

    def _note(self, place: Place) -> bool:
        known = self.report.places.get(place.id)
        if known is not None:
            known.count += 1
        elif len(self.report.places) < MOST_PLACES:
            self.report.places[place.id] = place
        elif place.certainty == "suspected":
            self.report.unlisted += 1
            return False
        else:
            self.report.uncounted += 1
        return True


def _is_one_of(value: str, kept: Sequence[str]) -> bool:
    return any(value in one or one in value for one in kept)


def _changed(where: str) -> ExportRefused:
    return ExportRefused(
        f"Nothing was exported: {where} holds something that was not there, or not decided, when the session was "
        "looked through. Look again and decide."
    )


def _context(text: str, one: Finding, findings: Sequence[Finding]) -> str:
    start, end = max(one.start - CONTEXT_CHARS, 0), min(one.end + CONTEXT_CHARS, len(text))
    # Another secret that reaches into the excerpt is masked whole.
    for other in findings:
        if other.start < start < other.end:
            start = min(other.end, one.start)
        if other.start < end < other.end:
            end = max(other.start, one.end)
    shifted = [
        Finding(other.start - start, other.end - start, other.kind, "found")
        for other in findings
        if other != one and start <= other.start and other.end <= end
    ]
    own = Finding(one.start - start, one.end - start, "•", "found")
    excerpt = without(text[start:end], apart([*shifted, own]))
    dots = f"••• ({one.end - one.start} characters)"
    return " ".join(excerpt.replace(mask_of("•"), dots).split())
