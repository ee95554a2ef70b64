"""Which summarisers a replay may have, and keeping what an endpoint was paid for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import orjson
import zstandard
from django.conf import settings as site
from django.db import transaction
from django.utils import timezone

from contextviz.engines.material import Material
from contextviz.engines.settings import Value
from contextviz.engines.summaries import Summariser, SummaryRequest
from contextviz.engines.summarising.registry import (
    DEFAULT,
    NoSuchSummariser,
    SummariserSpec,
    summariser,
    summarisers,
)
from contextviz.services.replay.endpoint import MODEL, URL, EndpointSettings, EndpointSummariser
from contextviz.services.replay.watched import nothing
from contextviz.store.bulk import clean_deep
from contextviz.store.models import KeptSummaryRecord

MOST_SUMMARY_BYTES = 16 * 1024 * 1024
_USED = frozenset({"calls", "tokens", "cut", "mostCalls", "mostTokens"})  # of EndpointSummariser.settings


def summariser_choices() -> list[str]:
    """The ids of the summarisers that `start_run` takes, the default first."""
    return [spec.id for spec in summariser_specs()]


def summariser_specs() -> list[SummariserSpec]:
    """The same with what each is; the one on an endpoint only where an address is set."""
    found = endpoint_settings()
    return summarisers() if found is None else [*summarisers(), _endpoint_spec(found)]


def endpoint_settings() -> EndpointSettings | None:
    """The endpoint that this installation's owner has set; None (off) without one."""
    url, model = site.SUMMARISER_URL, site.SUMMARISER_MODEL
    if not url or not model:
        return None
    return EndpointSettings(url, model, site.SUMMARISER_KEY, timeout_seconds=site.SUMMARISER_TIMEOUT_SECONDS)


def _endpoint_spec(found: EndpointSettings) -> SummariserSpec:
    host = urlsplit(found.url).hostname or "the endpoint"
    said = f"Asks {found.model} at {host}: what is to be summarised is sent there."
    return SummariserSpec(EndpointSummariser.id, "Endpoint", said, lambda material: EndpointSummariser(found))


def by_rule(material: Material) -> Summariser:
    """The summariser of a replay that names none."""
    return summariser(DEFAULT, material)


def chosen(name: str, material: Material | None = None, look: Callable[[], None] = nothing) -> Summariser:
    """A fresh summariser by its id (the default's where it is empty) for one run over `material`; raises
    NoSuchSummariser. `look` is called while an endpoint is waited for (EndpointSummariser)."""
    if name != EndpointSummariser.id:
        return summariser(name or DEFAULT, material)
    found = endpoint_settings()
    if found is None:
        raise NoSuchSummariser(f"No endpoint is set for summaries: set {URL} and {MODEL} (docs/settings.md).")
    return EndpointSummariser(found, look)


def summariser_for(
    name: str, session_id: int, material: Material, look: Callable[[], None] = nothing
) -> Summariser:  # fmt: skip
    """The same for a run of a session: what an endpoint was paid for is not asked again."""
    found = chosen(name, material, look)
    return Remembering(found, session_id) if isinstance(found, EndpointSummariser) else found


def identity_of(made: Summariser) -> dict[str, Value]:
    """What tells a summariser from another: its id and what it is set to, without what it has used so far."""
    return {"id": made.id, **{name: value for name, value in made.settings.items() if name not in _USED}}


@dataclass(slots=True)
class Remembering:
    """A summariser whose answers are kept with the session, by everything that it was asked and set to. `known` counts
    those that were there already."""

    inner: Summariser
    session_id: int
    known: int = 0

    @property
    def id(self) -> str:
        """See Summariser."""
        return self.inner.id

    @property
    def settings(self) -> dict[str, Value]:
        """See Summariser."""
        return self.inner.settings

    def __call__(self, request: SummaryRequest) -> str:
        """See Summariser. Each answer is saved in a transaction of its own, so that a kill loses none."""
        key = self._key(request)
        kept = KeptSummaryRecord.objects.filter(session_id=self.session_id, key=key)
        body = kept.values_list("body", flat=True).first()
        if body is not None:
            self.known += 1
            return _opened(body)
        text = self.inner(request)
        with transaction.atomic():
            KeptSummaryRecord.objects.get_or_create(
                session_id=self.session_id, key=key, defaults={"body": _packed(text), "made_at": timezone.now()}
            )
        return text

    def close(self) -> str:
        """Let go of the endpoint's connections; what was asked of it, as a note."""
        inner = self.inner
        if isinstance(inner, EndpointSummariser):
            inner.close()
        calls, tokens, cut = (int(getattr(inner, name, 0)) for name in ("calls", "tokens", "cut"))
        return (
            f"Summaries by {inner.settings.get('model', self.id)}: {calls:,} asked for now ({tokens:,} tokens),"
            f" {self.known:,} kept from before, {cut:,} longer than asked for and cut."
        )

    def _key(self, request: SummaryRequest) -> str:
        asked = clean_deep([identity_of(self.inner), asdict(request)])
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _packed(text: str) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(text.encode("utf-8", "surrogatepass"))


def _opened(body: bytes | memoryview) -> str:
    raw = zstandard.ZstdDecompressor().decompress(bytes(body), max_output_size=MOST_SUMMARY_BYTES)
    return raw.decode("utf-8", "surrogatepass")
