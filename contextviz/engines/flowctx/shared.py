"""What both versions of flowctx share: compressing results, folding turns into notes, telling of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from contextviz.engines.engine import Host, ReplayEngine
from contextviz.engines.flowctx.drain import Done, Job, Tree, is_note
from contextviz.engines.flowctx.projection import Projection, project
from contextviz.engines.flowctx.store import Store, arguments_of
from contextviz.engines.flowctx.tree import Leaf, Node, Timeline, TreeConfig, active, placeholder
from contextviz.engines.material import Piece, ReplayMessage
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import NodeMade, Part, PartPiece, made
from contextviz.events.javascript import length16
from contextviz.events.text import LONE_SURROGATE
from contextviz.tokens.estimators import cp_weighted

ESTIMATOR = "cp-weighted"
KIND = "tool-result"
LARGER = "larger than the original"
RETRIEVE = "flowctx_retrieve"
TEXT_KINDS = frozenset({"text", "tool_result", "injected", "summary", "system"})
# What the model is asked for, in our words; the six headings are the format by which a note is known (3.5).
INSTRUCTIONS = (
    "Write a hand-off note about these messages for an engineer who goes on with the work. Use these six headings in"
    " this order, short points under each, (none) where there is nothing: ## TASK / GOAL, ## WORKING APPROACHES,"
    " ## FAILED APPROACHES, ## KEY IDENTIFIERS, ## FILE ARTIFACTS, ## OPEN STATE. Keep paths, names, commands and"
    " numbers exactly as they are."
)


class FlowctxEngine(ReplayEngine):
    """The messages so far with their sizes, the store of originals, the tree of summaries."""

    engine_name = "flowctx-dsh"  # how markers and placeholders name it
    note_tokens = 0  # what a summary is asked for where the setting leaves it open

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self.store = Store(host.now)
        self.messages: list[ReplayMessage] = []
        self.parts: list[Part] = []
        self.sizes: list[int] = []  # tokens of each part as it is given
        self.timeline = Timeline()
        depth = self.number("maxSummaryDepth")
        config = TreeConfig(
            self.number("leafChunkTokens"), self.number("condenseFanout"), depth, self.number("summaryKeepRecentTurns")
        )
        accepts = is_note if self.flag("requireSections") else _is_any
        self.tree = Tree(config, host.now, accepts=accepts)
        self.placeholders: list[Part] = []
        self.placeholder_tokens = 0
        self.calls_made = 0
        self._shown: dict[Node, Part] = {}

    # ---- tool results ----

    def projected(self, message: ReplayMessage) -> Part | None:
        """The message with its results compressed and their originals kept; None where none is large enough."""
        threshold = self.number("projectionThreshold")
        changed: dict[int, Projection] = {}
        for place, piece in enumerate(message.pieces):
            # No code point is more than two tokens.
            if piece.kind not in ("tool_result", "text") or 2 * len(piece.text) <= threshold:
                continue
            result = project(
                piece.text, self.store, threshold=threshold, ttl_seconds=self.number("projectionTtlSeconds"), kind=KIND,
                tool_name=piece.tool_name or message.tool_name, name=self.engine_name,
            )  # fmt: skip
            if result.is_compressed:
                changed[place] = result
                self._tell_compressed(message, piece, result)
        if not changed:
            return None
        pieces = tuple(_piece(piece, changed.get(place), message) for place, piece in enumerate(message.pieces))
        first = next(iter(changed.values()))
        return Part(
            message.role, message, pieces, segment="tool_result", reason=_reason(changed.values()), handle=first.hash
        )

    def _tell_compressed(self, message: ReplayMessage, piece: Piece, result: Projection) -> None:
        assert result.hash is not None
        self.host.keep(result.hash, message, piece.text)
        saved = result.original_tokens - result.tokens
        ends = message.at + round(self.number("projectionTtlSeconds") * 1000) if message.at is not None else None
        self.host.told(
            "block.compressed",
            {
                "hash": result.hash, "contentType": result.content_type, "route": result.route,
                "strategy": result.route, "originalChars": result.original_chars,
                "originalTokens": result.original_tokens, "keptChars": result.kept_chars,
                "projectedChars": length16(result.text), "projectedTokens": result.tokens, "savedTokens": saved,
                "largerThanOriginal": saved < 0, "flag": LARGER if saved < 0 else None,
                "loneSurrogate": LONE_SURROGATE.search(result.text) is not None, "callId": piece.tool_call_id,
                "toolName": piece.tool_name or message.tool_name, "reversible": True, "markerText": result.marker,
                "expiresAt": _iso(ends), "estimator": ESTIMATOR, "msgSeq": message.seq, "piece": piece.index,
            },
            "exact" if self.engine_name == "flowctx-dsh" else "derived",
        )  # fmt: skip

    # ---- what the model asks for ----

    def tell_tools(self, message: ReplayMessage) -> None:
        """Tell of the model's calls that want an original or a summary back, and whether this replay has it."""
        for piece in message.pieces:
            if piece.kind != "tool_call" or piece.tool_name != RETRIEVE:
                continue
            arguments = arguments_of(piece.text)
            node, name = str(arguments.get("node") or "").strip(), str(arguments.get("hash") or "").strip()
            if node:
                found = next((one.content for one in self.tree.nodes if one.id == node), None)
            else:
                found = self.store.retrieve(name)
            self.host.told(
                "retrieve",
                {"tool": RETRIEVE, "key": (node or name)[:200], "hit": found is not None,
                 "chars": None if found is None else length16(found)},
                "exact",
            )  # fmt: skip

    # ---- summaries ----

    def drain(self, frozen_start: float) -> list[Done]:
        """Fold what can be folded and tell of it; what was done."""
        done = self.tree.drain(self.timeline, frozen_start, self._note)
        for one in done:
            if one.node is None:
                self._tell_refused(one)
            else:
                self._tell_node(one, one.node)
        if done:
            self._show()
        return done

    def _note(self, job: Job, name: str) -> str | None:
        if isinstance(job, Leaf):
            text = "\n\n".join(self.given_text(place) for place in range(job.start, job.end))
        else:
            text = "\n\n".join(child.content for child in job.children)
        self.calls_made += 1
        depth = 0 if isinstance(job, Leaf) else job.depth
        try:
            return self.host.summarise(
                SummaryRequest(
                    text, is_condensed=depth > 0, depth=depth, covers=self._covers(job), instructions=INSTRUCTIONS,
                    target_tokens=self.whole("summaryMaxTokens") or self.note_tokens,
                )
            )  # fmt: skip
        except SummariserFailed as error:
            self.host.told("engine.error", {"message": f"{name}: {error}", "phase": "summary"}, "simulated")
            return None

    def given_text(self, place: int) -> str:
        """The text blocks of a message, as the summariser is given them."""
        raise NotImplementedError

    def _covers(self, job: Job) -> tuple[int, ...]:
        if not isinstance(job, Leaf):
            return ()
        return tuple(message.seq for message in self.messages[job.start : job.end])

    def _tell_node(self, done: Done, node: Node) -> None:
        self.host.node(
            NodeMade(
                node.id, node.depth, node.content, node.tokens, "condensed" if node.depth else "leaf", node.children,
                self._covers(done.job), given=placeholder(node, name=self.engine_name),
            )
        )  # fmt: skip

    def _tell_refused(self, done: Done) -> None:
        turns = f"turns {done.job.start_turn} to {done.job.end_turn}"
        what = "they are never summarised" if isinstance(done.job, Leaf) else "they stay apart for now"
        message = f"The summary {done.id} of {turns} failed or has none of the note's headings; {what}."
        self.host.told("engine.error", {"message": message, "phase": "summary"}, "exact")

    def _show(self) -> None:
        """The placeholders of what is active now; those that stay are the same objects."""
        shown = active(self.tree.nodes)
        self._shown = {node: self._shown.get(node) or self._placeholder(node) for node in shown}
        self.placeholders = list(self._shown.values())
        self.placeholder_tokens = sum(cp_weighted(part.text) for part in self.placeholders)

    def _placeholder(self, node: Node) -> Part:
        text = placeholder(node, name=self.engine_name)
        reason = f"summary of turns {node.start_turn} to {node.end_turn}"
        return made("user", text, segment="placeholder", reason=reason, kind="summary", node=node.id)


def text_tokens(part: Part) -> int:
    """The tokens of a part's text blocks, rounded up for each: what leaves are measured by."""
    pieces = part.pieces if part.pieces is not None else (part.message.pieces if part.message is not None else ())
    return sum(cp_weighted(piece.text) for piece in pieces if piece.kind in TEXT_KINDS)


def part_tokens(part: Part) -> int:
    """The tokens of all of a part, tool calls and thinking too."""
    pieces = part.pieces if part.pieces is not None else (part.message.pieces if part.message is not None else ())
    return sum(cp_weighted(piece.text) for piece in pieces)


def text_blocks(part: Part) -> str:
    """A part's text blocks, one under the other; its role where it has none, as the port puts it."""
    pieces = part.pieces if part.pieces is not None else (part.message.pieces if part.message is not None else ())
    texts = [piece.text for piece in pieces if piece.kind in TEXT_KINDS and piece.text]
    return "\n".join(texts) if texts else f"[{part.role} message]"


def _is_any(_: str) -> bool:
    return True


def _piece(piece: Piece, result: Projection | None, message: ReplayMessage) -> PartPiece:
    return PartPiece(
        piece.kind, piece.text if result is None else result.text, piece.index,
        "verbatim" if result is None else "truncated", piece.tool_name or message.tool_name, piece.tool_call_id,
        piece.is_error,
    )  # fmt: skip


def _reason(results: Iterable[Projection]) -> str:
    words = []
    for result in results:
        how = f"compressed as {result.content_type}" if result.route == "structured" else "compressed to head and tail"
        words.append(f"{how}, {LARGER}" if result.tokens > result.original_tokens else how)
    return "; ".join(dict.fromkeys(words))


def _iso(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None
