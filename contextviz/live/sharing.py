"""What several streams ask for at the same moment is made once for all of them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

SHARED_SECONDS = 1.0
Answer = TypeVar("Answer")


class Shared(Generic[Answer]):
    """Answers by what was asked, for a second: whoever asks the same meanwhile waits for the same answer. Of an event
    loop each; the question says everything that the answer depends on, who asks among it."""

    def __init__(self) -> None:
        self._answers: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[Hashable, tuple[float, asyncio.Task[Answer]]]
        ] = WeakKeyDictionary()

    async def ask(self, question: Hashable, make: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """The answer to `question`, by `make` where nobody asked it within the last second."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        held = self._answers.get(loop, {})
        fresh = {one: answer for one, answer in held.items() if now - answer[0] < SHARED_SECONDS}
        if question not in fresh:
            # A context of its own: a request's ends with the request, and its thread with it.
            fresh[question] = now, loop.create_task(make(), context=contextvars.Context())
        self._answers[loop] = fresh
        # One who goes away must not take the answer from the others.
        return await asyncio.shield(fresh[question][1])
