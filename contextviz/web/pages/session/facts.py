"""What is known of a session as a whole: facts, files, relations, problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from contextviz.analysis.windows import configured_window
from contextviz.charts import words
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Configuration, LineCounts
from contextviz.services.accounts.people import has_others
from contextviz.services.accounts.privacy import may_decide
from contextviz.sources.naming import format_name
from contextviz.store.queries import calls, sessions
from contextviz.store.values import ClientTotal, SessionDetail, SessionRow, SourceRow
from contextviz.store.viewing import current_viewer
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.unlogged import BASIS, beyond

SHOWN_PROBLEMS = 6
SHOWN_FILES = 6
SHOWN_AGENTS = 12
_WINDOW_WORDS = {
    "table": ", from our table", "hint": ", by the index", "configuration": ", by the agent's configuration",
}  # fmt: skip


_COST_WORDS = {
    "reported": ", as written by the client", "derived": ", from prices", "estimated": ", from estimated usage",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of facts; `url` where the value leads somewhere. `is_code` for what can be pasted."""

    name: str
    value: str
    url: str = ""
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One thing that could not be read as it stands."""

    # error, warning, info
    severity: str
    # What is the matter, as a sentence
    text: str
    # Where: file and line, "" where that says nothing
    where: str
    # The code that `inspect --json` uses
    code: str


@dataclass(frozen=True, slots=True)
class AgentLink:
    """A window of the session: the main chain's, or a sub-agent's."""

    name: str
    url: str
    # The task it was given, "" where that is not recorded
    task: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who sees the session, and what the reader may decide about that."""

    # A sentence, "" where there is nobody else
    text: str
    is_private: bool
    is_kept: bool
    # Where to post; "" where the reader may not, or there is nothing to decide
    privacy_url: str
    keep_url: str


@dataclass(frozen=True, slots=True)
class Beside:
    """The agent's configuration as far as it shapes the window."""

    # The files, and what else they hold: "Read from openclaw.json. 29 other settings are not kept."
    text: str
    # Engine, window and threshold, as far as it says them
    lines: tuple[Fact, ...]
    # The settings by name, in the order of the names
    settings: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything below the inspector's items."""

    # Facts in the order of interest
    lines: tuple[Fact, ...]
    # Windows of the session: the main chain, then sub-agents; empty without sub-agents
    agents: tuple[AgentLink, ...]
    # How many sub-agents are not listed
    more_agents: int
    # Problems, the first ones, and how many there are in all
    problems: tuple[ProblemRow, ...]
    problem_count: int
    problems_url: str
    # "99.97 % of 1,204 lines read", "" where lines mean nothing
    coverage: str
    # What the agent's configuration says of its context, None where none came with the session
    configuration: Beside | None
    # Who sees it
    sharing: Sharing


def facts_of(detail: SessionDetail, place: Place) -> Facts:
    """The facts of a session. Four queries."""
    row, transcript = detail.row, detail.transcript
    problems = calls.problems(row.id, limit=SHOWN_PROBLEMS) if row.problem_count else []
    lines = [*_own(row, detail.client_total), *_files(sessions.sources(row.id)), *_relations(row)]
    agents = [
        AgentLink(
            agent.kind or agent.id[:24], place.url(agent=agent.id, a=None, b=None, after=None, before=None, call=None,
            message=None), (agent.task or "")[:120], place.agent == agent.id,
        )
        for agent in transcript.subagents[:SHOWN_AGENTS]
    ]  # fmt: skip
    if agents:
        url = place.url(agent=None, a=None, b=None, after=None, before=None, call=None, message=None)
        agents.insert(0, AgentLink("Main chain", url, "", place.agent is None))
    return Facts(
        tuple(lines), tuple(agents), max(0, len(transcript.subagents) - SHOWN_AGENTS),
        tuple(problem_row(one) for one in problems), row.problem_count, reverse("problems", args=[row.id]),
        coverage_words(transcript.lines), _beside(row, transcript.session.configuration), _sharing(row),
    )  # fmt: skip


def _beside(row: SessionRow, found: Configuration | None) -> Beside | None:
    if found is None:
        return None
    names = " and ".join(name.rsplit("/", 1)[-1] for name in found.files)
    verb = "is" if found.left_out == 1 else "are"
    other = f" {words.counted(found.left_out, 'other setting')} {verb} not kept." if found.left_out else ""
    lines = [
        Fact("Context engine", found.engine or "the client's own", is_code=found.engine is not None),
        Fact("Window by configuration", _tokens(configured_window(found, row.model, row.agent))),
        Fact("Compacts above", _tokens(row.compaction_threshold)),
    ]
    settings = [Fact(name, str(value).lower() if isinstance(value, bool) else str(value), is_code=True)
                for name, value in sorted(found.settings.items())]  # fmt: skip
    return Beside(f"Read from {names} by a list of what is allowed.{other}", tuple(lines), tuple(settings))


def _tokens(tokens: int | None) -> str:
    return words.UNKNOWN if tokens is None else f"{words.tokens(tokens)} tok"


def _sharing(row: SessionRow) -> Sharing:
    viewer = current_viewer()
    is_alone = viewer.user_id is None or not has_others(viewer.user_id)
    text = "Only its owner and admins see it." if row.is_private else "Everybody here sees it."
    may = may_decide(row)
    return Sharing(
        "" if is_alone and not row.is_private else text, row.is_private, row.is_kept,
        reverse("session_privacy", args=[row.id]) if may and (row.is_private or not is_alone) else "",
        reverse("session_keep", args=[row.id]) if may else "",
    )  # fmt: skip


def problem_row(problem: ReadProblem) -> ProblemRow:
    """A problem as a line."""
    name = (problem.file or "").rsplit("/", 1)[-1]
    place = f"line {problem.line:,}" if problem.line is not None else name
    return ProblemRow(problem.severity, _sentence(problem.message), place, problem.code)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def coverage_words(lines: LineCounts) -> str:
    """Which share of the lines was read as what they are, and what became of the others."""
    share = lines.coverage
    if share is None:
        return ""
    parts = [f"{words.percent(share, 2)} of {words.counted(lines.total - lines.blank, 'line')} read"]
    if lines.unknown:
        parts.append(f"{words.counted(lines.unknown, 'line')} of unknown type kept as they are")
    if lines.malformed:
        parts.append(f"{words.counted(len(lines.malformed), 'line')} malformed")
    if lines.in_progress is not None:
        parts.append(f"line {lines.in_progress:,} still being written")
    return ", ".join(parts) + "."


def _left_out(row: SessionRow) -> str:
    if not row.cost_unpriced_calls or row.cost_usd is None:
        return ""
    verb = "has" if row.cost_unpriced_calls == 1 else "have"
    return f", without {words.counted(row.cost_unpriced_calls, 'call')} that {verb} no price"


def _own(row: SessionRow, total: ClientTotal) -> list[Fact]:
    version = f" {row.format_version}" if row.format_version else ""
    failed = f", {row.failed_call_count:,} failed" if row.failed_call_count else ""
    window = "not reported"
    if row.window is not None:
        window = f"{words.tokens(row.window)} tok" + _WINDOW_WORDS.get(row.window_basis or "", "")
    return [
        Fact("Read from", format_name(row.format) + version),
        Fact("Session", row.source_id, is_code=True),
        Fact("Model", row.model or words.UNKNOWN, is_code=row.model is not None),
        Fact("Folder", row.cwd or words.UNKNOWN, is_code=row.cwd is not None),
        Fact("Window", window),
        Fact("Calls", f"{row.call_count:,}{failed}"),
        Fact("Messages", f"{row.message_count:,}"),
        *_spent(row, total),
        Fact("Estimator", row.estimator or words.UNKNOWN, is_code=row.estimator is not None),
    ]


def _spent(row: SessionRow, total: ClientTotal) -> list[Fact]:
    """Tokens and cost of the calls, and on lines of their own what the client's total has beyond them."""
    found, rest = [], beyond(row, total)
    if rest is None:
        found.append(Fact("Tokens spent, reported", words.tokens(row.spend_total_tokens)))
    else:
        parts = f" ({rest.parts})" if rest.parts else ""
        found += [
            Fact("Tokens spent, reported by call", words.tokens(row.spend_total_tokens)),
            Fact("Beyond the calls", f"{words.tokens(rest.rest.total_tokens)} tok{parts}, {BASIS}"),
            Fact("Tokens with the calls", words.tokens(rest.whole.total_tokens)),
        ]
    found.append(Fact("Cost" + _COST_WORDS.get(row.cost_basis, ""), words.money(row.cost_usd) + _left_out(row)))
    if rest is not None and rest.rest.cost_usd is not None:
        both = "" if rest.cost is None else f"; {words.money(rest.cost)} with the calls"
        found.append(Fact("Cost beyond the calls", f"{words.money(rest.rest.cost_usd)}, {BASIS}{both}"))
    if total.cost_usd is not None:
        found.append(Fact("Cost by the client's own total", f"{words.money(total.cost_usd)}, reported"))
    return found


def _files(sources: Sequence[SourceRow]) -> list[Fact]:
    found = [
        Fact("File" if at == 0 else "", f"{one.name} · {words.size(one.size)}" + (", read in place" if one.is_in_place
             else ""), is_code=True)
        for at, one in enumerate(sources[:SHOWN_FILES])
    ]  # fmt: skip
    if len(sources) > SHOWN_FILES:
        found.append(Fact("", words.counted(len(sources) - SHOWN_FILES, "more file")))
    return found


def _relations(row: SessionRow) -> list[Fact]:
    found = []
    named = {}
    for other in sessions.related(row):
        named[other.source_id] = other
        if other.parent == row.source_id or other.forked_from == row.source_id:
            word = "Forked into" if other.forked_from == row.source_id else "Child"
            found.append(Fact(word, other.title or other.source_id, reverse("session", args=[other.id])))
    for word, name in (("Parent", row.parent), ("Forked from", row.forked_from)):
        if name:
            other_row = named.get(name)
            url = reverse("session", args=[other_row.id]) if other_row else ""
            shown = (other_row.title if other_row else None) or name
            found.append(Fact(word, shown if url else f"{shown} (not imported)", url))
    return found[:30]
