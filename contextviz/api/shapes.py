"""What every reply shares: pages, numbers with their basis, texts, errors."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from ninja import Schema
from pydantic import AfterValidator, Field

from contextviz.events.masking import MARGIN_CHARS, without_secrets

Item = TypeVar("Item")
Basis = Literal["reported", "derived", "estimated", "unknown"]
NAME_CHARS = 200
WORDS_CHARS = 2_000


def _cut(most: int) -> AfterValidator:
    return AfterValidator(lambda text: quiet(text, most))


def quiet(text: str, most: int) -> str:
    """Words of a transcript, secrets masked, at most `most` characters of them."""
    masked = without_secrets(text[: most + MARGIN_CHARS])
    return masked if len(masked) <= most else masked[: most - 1] + "…"


# A transcript's own words, which may have any length.
Name = Annotated[str, _cut(NAME_CHARS)]
Words = Annotated[str, _cut(WORDS_CHARS)]


class PageOf(Schema, Generic[Item]):
    """One page of a list. `next` is the cursor of the page that follows, null at the end."""

    items: list[Item]
    next: str | None


class Tokens(Schema):
    """A number of tokens and where it comes from; null goes with unknown."""

    tokens: int | None
    basis: Basis

    @classmethod
    def of(cls, tokens: int | None, basis: str) -> Tokens:
        """`tokens` on `basis`; unknown where there is no number."""
        return cls(tokens=tokens, basis="unknown" if tokens is None else basis)  # type: ignore[arg-type]


class Cost(Schema):
    """US dollars and where the number comes from: reported as the source has it, derived from the prices that hold here
    (estimated where the usage is); null goes with unknown."""

    usd: float | None
    basis: Basis


class SessionCost(Cost):
    """The cost of all calls but `unpriced_calls`, which neither the source nor the price table has a cost for."""

    unpriced_calls: int


class Text(Schema):
    """A text by its content. `body` is null unless asked for; `is_cut` where it is not the whole text, which
    `/originals/{sha256}/raw` gives; `masked` says how many values that look like secrets are words in it. `sha256` is
    of the UTF-8 bytes as they are kept, and its first 24 digits are the handle."""

    sha256: str
    chars: int
    bytes: int
    tokens: Tokens
    body: str | None = None
    is_cut: bool = False
    masked: int = 0


class JobOpened(Schema):
    """Work that was queued: look at the job to see how it goes."""

    job: str = Field(description="The job's id, for /jobs/{job}")


class FieldError(Schema):
    """What is wrong with one part of the request."""

    field: str
    sentence: str


class ErrorBody(Schema):
    """What went wrong: HTTP's status, a stable code, a sentence for a person."""

    status: int
    code: str
    sentence: str
    fields: list[FieldError] | None = None


class Error(Schema):
    """The one shape of every error."""

    error: ErrorBody
