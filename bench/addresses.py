"""Every address of one session that must stay quick at any size, with what its reply may weigh."""

from __future__ import annotations

from dataclasses import dataclass

KB, MB = 1000, 1_000_000
PAGE_BYTES = 150 * KB
REPLY_BYTES = MB


@dataclass(frozen=True, slots=True)
class Address:
    """One address: what people call it, the most bytes of its reply, and what it answers with."""

    name: str
    url: str
    most_bytes: int = PAGE_BYTES
    accept: str = "text/html"


@dataclass(frozen=True, slots=True)
class Extent:
    """What the addresses of a session need to know of it. `last_message` is an index, from 0."""

    session_id: int
    calls: int
    compactions: int
    last_message: int


def pages(of: Extent, *, word: str = "harbor") -> list[Address]:
    """The pages, and the parts of pages that a script asks for."""
    base, calls = f"/sessions/{of.session_id}/", of.calls
    middle = max(1, calls // 2)
    found = [
        Address("Library", "/"),
        Address("Session", base),
        Address("Session from the start", f"{base}?after=-1"),
        Address("Session at the middle call", f"{base}?call={middle}"),
        Address("Session, A and B", f"{base}?a=1&b={calls}"),
        Address("transcript part", f"{base}?part=transcript&before={of.last_message // 2}"),
        Address("inspector part", f"{base}inspector/?a={middle}&b={calls}"),
        Address("fresh part", f"{base}fresh/?after={of.last_message - 1}"),
        Address("Context at the first call", f"{base}calls/1/"),
        Address("Context at the middle call", f"{base}calls/{middle}/"),
        Address("Context at the last call", f"{base}calls/{calls}/"),
        Address("Context, A and B", f"{base}calls/{calls}/?a=1"),
        Address("Compactions", f"{base}compactions/"),
        Address("Graph", f"{base}graph/"),
        Address("Budget", f"{base}budget/"),
        Address("If it compacted now", f"{base}if-now/"),
        Address("Lab", f"{base}lab/"),
        Address("Lab at the middle call", f"{base}lab/?call={middle}"),
        Address("Lab, composition", f"{base}lab/?view=composition"),
        Address("Problems", f"{base}problems/"),
        Address("a message", f"{base}messages/{of.last_message}/"),
        Address("Search", f"/search/?q={word}"),
        Address("Search, two words", f"/search/?q={word}+ledger"),
        Address("Search, a phrase", f"/search/?q=%22{word}+ledger%22"),
        Address("Search, nothing found", "/search/?q=unheardofword"),
        Address("Search in the session", f"/search/?q={word}&session={of.session_id}"),
        Address("find, no script", f"{base}find/?q={word}"),
        Address("Jobs", "/jobs/"),
        Address("Alerts", "/alerts/"),
        Address("Originals", "/originals/"),
    ]
    if of.compactions:
        found.insert(13, Address("the first compaction", f"{base}compactions/1/"))
        found.insert(14, Address("the last compaction", f"{base}compactions/{of.compactions}/"))
        found.insert(15, Address("Compaction, identifiers", f"{base}compactions/{of.compactions}/?identifiers=1"))
    return found


def figures(of: Extent, *, word: str = "harbor") -> list[Address]:
    """The figures and lists that scripts fetch."""
    base = f"/sessions/{of.session_id}/"
    names = ("strip", "budget-treemap", "budget-calls", "budget-prefix", "lab-fill")
    found = [Address(f"{name}.json", f"{base}figures/{name}.json", REPLY_BYTES) for name in names]
    found.append(Address("find.json", f"{base}find/?q={word}", REPLY_BYTES, "application/json"))
    return found


def interface(of: Extent, *, word: str = "harbor") -> list[Address]:
    """The JSON interface's reading operations on a session."""
    base = f"/api/v1/sessions/{of.session_id}"
    parts = (
        "", "/runs", "/messages", f"/messages/{of.last_message}", "/problems", "/calls", f"/calls/{of.calls}",
        f"/calls/{of.calls}/snapshot", f"/calls/{of.calls}/snapshot/items", "/snapshots", "/compactions",
    )  # fmt: skip
    found = [Address(f"API {part or '/'}", base + part, REPLY_BYTES) for part in parts]
    found.append(Address("API search", f"/api/v1/search?q={word}&session={of.session_id}", REPLY_BYTES))
    if of.compactions:
        found.append(Address("API /compactions/N", f"{base}/compactions/{of.compactions}", REPLY_BYTES))
        found.append(Address("API /compactions/N/items", f"{base}/compactions/{of.compactions}/items", REPLY_BYTES))
    return found


def every(of: Extent) -> list[Address]:
    """All of them."""
    return [*pages(of), *figures(of), *interface(of)]
