"""The messages of a replay as Cortext sees them, with what its rule asks for kept as they come: no window counts its
messages again."""

from __future__ import annotations

from collections.abc import Sequence

from contextviz.engines.cortext.text import replay_text
from contextviz.engines.cortext.window import Anchor, Mode, ViewMessage, cut_from, found_at
from contextviz.engines.material import ReplayMessage
from contextviz.engines.window import Part
from contextviz.events.javascript import length16, slice16, trim

_SYSTEM = ("system", "developer")  # what other hosts call developer messages is the host's system message


class View:
    """The list so far. Positions are indexes in it; units are UTF-16."""

    def __init__(self) -> None:
        self.messages: list[ReplayMessage] = []
        self.texts: list[str] = []
        self.parts: list[Part] = []
        self.systems: list[int] = []  # positions of system messages
        self._units: list[int] = [0]  # of all messages before a position
        self._others: list[int] = [0]  # messages before it that are no system messages
        self._users: list[int] = []  # the newest user message up to a position; 0 where there is none
        self._known: dict[int, tuple[ReplayMessage, str, Part]] = {}

    def add(self, message: ReplayMessage) -> str:
        """One more message; its text (4.2)."""
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = (message, replay_text(message), Part(message.role, message))
        _, text, part = known
        position = len(self.messages)
        is_system = message.role in _SYSTEM
        if is_system:
            self.systems.append(position)
        before = self._users[-1] if self._users else 0
        self._users.append(position if message.role == "user" else before)
        self._units.append(self._units[-1] + length16(text))
        self._others.append(self._others[-1] + (not is_system))
        self.messages.append(message)
        self.texts.append(text)
        self.parts.append(part)
        return text

    def holds(self, messages: Sequence[ReplayMessage]) -> bool:
        """Whether the host's list is this one; the ends tell."""
        own = self.messages
        if len(own) != len(messages):
            return False
        return not own or (own[-1] is messages[-1] and own[0] is messages[0])

    def take(self, messages: Sequence[ReplayMessage]) -> None:
        """Begin anew with another list; texts and parts of known messages stay the same objects."""
        known = self._known
        self.__init__()  # type: ignore[misc]
        self._known = known
        for message in messages:
            self.add(message)

    def units_of(self, position: int) -> int:
        """The length of one message."""
        return self._units[position + 1] - self._units[position]

    def tokens(self, start: int, more: int, end: int | None = None) -> int:
        """`chars4` of the messages from `start` (up to `end`) and of `more` units beside them."""
        last = self._units[-1] if end is None else self._units[end]
        return -(-(last - self._units[start] + more) // 4)

    def cut(self, length: int, mode: Mode, protect_tail: int) -> int:
        """Where the window of the first `length` messages begins (4.5)."""
        return self._users[cut_from(length, mode, protect_tail)]

    def dropped(self, cut: int) -> int:
        """Messages before the cut that are no system messages."""
        return self._others[cut]

    def anchor(self, cut: int, now: int | None) -> Anchor:
        """The anchor of a cut."""
        return Anchor(self.messages[cut].role, slice16(self.texts[cut], 0, 200), self._others[cut], now)

    def found(self, anchor: Anchor) -> int | None:
        """Where an anchor's message is now."""
        view = [
            ViewMessage("system" if one.role in _SYSTEM else one.role, text)
            for one, text in zip(self.messages, self.texts, strict=True)
        ]
        return found_at(view, anchor)

    @property
    def newest_user(self) -> int | None:
        """The place in the session (seq) of the newest user message."""
        if not self._users or self.messages[self._users[-1]].role != "user":
            return None
        return self.messages[self._users[-1]].seq

    def query(self) -> str:
        """What is asked for where the host gives no prompt: the newest user message, else the newest message."""
        if not self.texts:
            return ""
        at = self._users[-1] if self.newest_user is not None else len(self.texts) - 1
        return trim(self.texts[at])
