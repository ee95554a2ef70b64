"""What happens in an invented session, whichever format it is then written in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from bench.words import Writer

Kind = Literal["plain", "repeats", "tool-heavy", "cjk", "compacted", "many"]
KINDS: tuple[Kind, ...] = ("plain", "repeats", "tool-heavy", "cjk", "compacted", "many")
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CALLS_PER_COMPACTION = 75
CALLS_OF_A_SMALL_SESSION = 12
CHARS_PER_TOKEN = 4
SYSTEM_TOKENS = 16_000


@dataclass(frozen=True, slots=True)
class Shape:
    """How a kind of session is made. Means are in characters; `repeated` is the share of texts seen before."""

    prompt: int = 500
    answer: int = 900
    result: int = 2_600
    calls_per_turn: int = 4
    tools_per_call: int = 1
    repeated: float = 0.0
    compacts: bool = False


SHAPES: dict[Kind, Shape] = {
    "plain": Shape(),
    "repeats": Shape(repeated=0.5),
    "tool-heavy": Shape(prompt=300, answer=250, result=6_000, calls_per_turn=12, tools_per_call=3),
    "cjk": Shape(prompt=200, answer=500, result=1_000),
    "compacted": Shape(compacts=True),
    "many": Shape(prompt=300, answer=600, result=1_200),
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call: its id, name, arguments, and the text of its result."""

    id: str
    name: str
    arguments: dict[str, str]
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One model call: its text, its tool calls, and the prompt's tokens as a provider would report them."""

    text: str
    tools: tuple[Tool, ...]
    fresh_tokens: int
    cached_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction: the summary that stands for everything before it."""

    summary: str
    tokens_before: int


Step = Prompt | Answer | Compacted


@dataclass(slots=True)
class Story:
    """The steps of one session, made as they are asked for; `at` is the session's clock."""

    writer: Writer
    shape: Shape
    is_cjk: bool = False
    at: datetime = START
    calls: int = 0
    _texts: list[str] = field(default_factory=list)
    _window: int = SYSTEM_TOKENS
    _cached: int = 0

    def steps(self) -> Iterator[Step]:
        """Turns without end: a prompt, some calls with tools, and a call without."""
        while True:
            yield self._prompt()
            for number in range(self.shape.calls_per_turn):
                is_last = number == self.shape.calls_per_turn - 1
                yield self._answer(0 if is_last else self.shape.tools_per_call)
                if self.shape.compacts and self.calls % CALLS_PER_COMPACTION == 0:
                    yield self._compaction()

    def tick(self) -> datetime:
        """The next instant, one to nine seconds on."""
        self.at += timedelta(milliseconds=self.writer.random.randrange(1_000, 9_000))
        return self.at

    def _prompt(self) -> Prompt:
        text = self._text(self.writer.prose, self.shape.prompt)
        self._window += len(text) // CHARS_PER_TOKEN
        return Prompt(text)

    def _answer(self, tools: int) -> Answer:
        text = self._text(self.writer.prose, self.shape.answer)
        made = tuple(self._tool() for _ in range(tools))
        output = len(text) // CHARS_PER_TOKEN + 30 * tools + 1
        answer = Answer(text, made, max(1, self._window - self._cached), self._cached, output)
        self._cached = self._window
        self._window += output + sum(len(tool.result) for tool in made) // CHARS_PER_TOKEN
        self.calls += 1
        return answer

    def _tool(self) -> Tool:
        writer = self.writer
        result = self._text(writer.listing, self.shape.result)
        name, arguments = writer.random.choice(
            (("Read", {"file_path": writer.path()}), ("Bash", {"command": f"grep -n {writer.path()} -r ."}))
        )
        return Tool("toolu_" + writer.identifier(24), name, arguments, result, writer.random.random() < 0.03)

    def _compaction(self) -> Compacted:
        before, summary = self._window, self.writer.prose(4_000)
        self._window, self._cached = SYSTEM_TOKENS + len(summary) // CHARS_PER_TOKEN, SYSTEM_TOKENS
        return Compacted(summary, before)

    def _text(self, make: Callable[[int], str], mean: int) -> str:
        draw = self.writer.random
        if self._texts and draw.random() < self.shape.repeated:
            return draw.choice(self._texts)
        length = self.writer.length(mean)
        text = self.writer.cjk(length) if self.is_cjk else make(length)
        # Kept only where texts repeat, and bounded: a generator of any size must not grow.
        if self.shape.repeated:
            if len(self._texts) < 5_000:
                self._texts.append(text)
            else:
                self._texts[draw.randrange(5_000)] = text
        return text


def story(kind: Kind, writer: Writer, *, scale: float = 1.0, start: datetime = START) -> Story:
    """The story of one session of `kind`; `scale` makes all its texts longer or shorter."""
    known = SHAPES[kind]
    shape = Shape(
        max(1, int(known.prompt * scale)), max(1, int(known.answer * scale)), max(1, int(known.result * scale)),
        known.calls_per_turn, known.tools_per_call, known.repeated, known.compacts,
    )  # fmt: skip
    return Story(writer, shape, is_cjk=kind == "cjk", at=start)
