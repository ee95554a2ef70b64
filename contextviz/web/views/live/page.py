"""The Live page: sessions that grow, and the feed of what happens in them."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from contextviz.store.queries.live import Growing, growing
from contextviz.store.queries.sparklines import sparklines
from contextviz.web.pages.live.cards import RECENT, SORTS, Card, cards, summary
from contextviz.web.pages.live.feed import Choice, FeedPart, LivePlace, feed_part, parse


@dataclass(frozen=True, slots=True)
class CardsPart:
    """The cards as they are now, and the line that counts them."""

    cards: list[Card]
    summary: str
    # Where the script asks for them again
    url: str


@dataclass(frozen=True, slots=True)
class LivePage:
    """The whole page."""

    place: LivePlace
    part: CardsPart
    feed: FeedPart
    sorts: list[Choice]


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The page, whole without a script: cards (`sort`) and the newest rows of the feed (`show`, `session`, `agent`;
    those older than `before`)."""
    place = parse(request.GET.dict())
    found, total = growing(timezone.now() - RECENT)
    part = _part(found, total, place)
    agents = sorted({one.row.agent for one in found if one.row.agent})
    sorts = [Choice(key, name, place.url(sort=key), key == place.sort) for key, name in SORTS.items()]
    page = LivePage(place, part, feed_part(place, part.cards, agents), sorts)
    return render(request, "live/live.html", {"page": page})


@require_safe
def live_cards(request: HttpRequest) -> HttpResponse:
    """The cards alone, for a page that is told that something happened."""
    found, total = growing(timezone.now() - RECENT)
    part = _part(found, total, parse(request.GET.dict()))
    response = render(request, "live/_cards.html", {"part": part})
    response["Cache-Control"] = "no-store"
    return response


def _part(found: list[Growing], total: int, place: LivePlace) -> CardsPart:
    made = cards(found, sparklines(one.row for one in found), sort=place.sort, now=timezone.now())
    return CardsPart(made, summary(made, total), f"{reverse('live_cards')}?sort={place.sort}")


urlpatterns = [
    path("live/", live, name="live"),
    path("live/cards/", live_cards, name="live_cards"),
]
