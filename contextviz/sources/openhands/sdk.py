"""Events of the SDK (OpenHands 1, which the command line and the agent server write): each is of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.message import Block
from contextviz.events.text import TextPool
from contextviz.sources.openhands.application import terminal_text
from contextviz.sources.openhands.shapes import images_of, texts_of
from contextviz.sources.openhands.stream import Folding, Here, Stream
from contextviz.sources.openhands.view import SUMMARY_ID, numbers_of
from contextviz.sources.plain.content import blocks_of, dumps, media, part_blocks, tool_call, tool_results
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

Json = Mapping[str, Any]
# What goes on around the conversation: no model is shown it.
AROUND = frozenset({
    "ConversationStateUpdateEvent", "PauseEvent", "TokenEvent", "LLMCompletionLogEvent", "HookExecutionEvent",
    "StreamingDeltaEvent", "InterruptEvent", "ServerErrorEvent",
})  # fmt: skip
TERMINALS = frozenset({"TerminalObservation", "ExecuteBashObservation"})
RESULTS = frozenset({"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"})


class Sdk:
    """Reads the SDK's events into a stream."""

    def __init__(self, stream: Stream):
        self._stream = stream
        self._names: set[str] = set()
        self._tips: tuple[str, ...] = ()
        self._is_told = False

    @property
    def _pool(self) -> TextPool:
        """The draft's, which is another one in each reading of lines that are read on."""
        return self._stream.draft.pool

    def add(self, event: Json, here: Here) -> str | None:
        """Take one event; the name of its class where that is not known."""
        kind = as_text(event.get("kind")) or "no kind"
        self._parent(as_id(event.get("parent_id")), here)
        self._names.add(here.name)
        if kind in AROUND:
            return None
        self._tips = (*self._tips[-1:], here.name)
        if kind == "SystemPromptEvent":
            self._stream.say("system", "system", self._system(event), here)
        elif kind == "MessageEvent":
            self._message(event, here)
        elif kind == "ActionEvent":
            self._action(event, here)
        elif kind in RESULTS:
            self._result(kind, event, here)
        elif kind == "Condensation":
            self._condensation(event, here)
        elif kind == "CondensationRequest":
            self._stream.trigger = as_text(event.get("reason")) or "requested"
        elif kind == "CondensationSummaryEvent":
            text = self._pool.put(as_text(event.get("summary")) or "")
            self._stream.say("user", "summary", [Block("summary", text)], here)
        elif kind == "ConversationErrorEvent":
            if (as_text(event.get("code")) or "").startswith("LLM"):
                self._stream.draft.transcript.failed_calls += 1
        else:
            return kind
        return None

    def _parent(self, parent: str | None, here: Here) -> None:
        """Newer versions name the event that each one follows: where that is none of the last two, the conversation
        went back, which is not followed."""
        if parent is None or self._is_told or parent not in self._names or parent in self._tips:
            return
        self._is_told = True
        text = f"from event {here.name[:80]} on the conversation went back to {parent[:80]}; it is shown as one line"
        self._stream.draft.problem("branch_not_followed", text, line=here.line, entry=here.name, value=parent[:80])

    def _system(self, event: Json) -> list[Block]:
        parts = [*texts_of(event.get("system_prompt")), *texts_of(event.get("dynamic_context"))]
        blocks = [Block("system", self._pool.put(text)) for text in parts] or [Block("system", self._pool.put(""))]
        for tool in as_list(event.get("tools")):
            found = as_dict(tool)
            names = (found.get("name"), found.get("title"), as_dict(found.get("function")).get("name"))
            blocks.append(Block("tools", self._pool.put(dumps(tool)), next(filter(None, map(as_text, names)), None)))
        return blocks

    def _content(self, content: Any) -> list[Block]:
        blocks: list[Block] = []
        for part in content if isinstance(content, list) else [content]:
            images = images_of(part)
            if images:
                blocks.extend(media(self._pool, url, None) for url in images)
            else:
                blocks.extend(part_blocks(part, self._pool))
        return blocks

    def _message(self, event: Json, here: Here) -> None:
        said = as_dict(event.get("llm_message"))
        blocks = self._content(said.get("content"))
        added = [Block("injected", self._pool.put(text)) for text in texts_of(event.get("extended_content"))]
        reply = as_id(event.get("llm_response_id"))
        if said.get("role") != "assistant" and event.get("source") != "agent":
            is_human = event.get("source") == "user" and bool(blocks)
            self._stream.say("user", as_text(said.get("role")) or "user", [*blocks, *added], here, is_human=is_human)
            return
        thoughts, is_kept = self._thoughts(said)
        message = self._stream.answer([*thoughts, *blocks, *added], here)
        if reply is not None:
            self._stream.called(message, None, reply, here)
        self._stream.shown(message, here, [*(thoughts if is_kept else []), *blocks, *added])

    def _thoughts(self, holder: Json) -> tuple[list[Block], bool]:
        """What the model thought, and whether it is sent back: blocks that the provider signed are."""
        signed = [block for one in as_list(holder.get("thinking_blocks")) for block in part_blocks(one, self._pool)]
        signed = [block for block in signed if block.kind == "thinking"]
        if signed:
            return signed, True
        text = as_text(holder.get("reasoning_content"))
        item = as_dict(holder.get("responses_reasoning_item"))
        text = text or "\n\n".join(one for one in as_list(item.get("summary")) if isinstance(one, str))
        return ([Block("thinking", self._pool.put(text))] if text else []), False

    def _action(self, event: Json, here: Here) -> None:
        """A call of a tool. Calls of one reply are one message; what was said before them is in the first."""
        stream = self._stream
        call = as_id(event.get("tool_call_id")) or f"event-{here.name}"
        reply = as_id(event.get("llm_response_id"))
        asked = as_dict(event.get("tool_call"))
        function = as_dict(asked.get("function")) or asked
        name = as_text(event.get("tool_name")) or as_text(function.get("name"))
        arguments = function.get("arguments")
        if arguments is None:
            arguments = {key: value for key, value in as_dict(event.get("action")).items() if key != "kind"}
        block = tool_call(self._pool, name, arguments, call)
        thoughts, is_kept = self._thoughts(event)
        said = blocks_of(as_list(event.get("thought")) or as_text(event.get("thought")), self._pool)
        batch = stream.batch_of(reply) if reply is not None else None
        if batch is not None and not batch.is_answered and not thoughts and not said:
            stream.more_calls(batch, [block], [call], here)
            return
        message = stream.answer([*thoughts, *said, block], here)
        if reply is not None:
            stream.called(message, None, reply, here)
        sent = [*(thoughts if is_kept else []), *said, block]
        stream.calls(reply or f"event-{here.name}", message, sent, [call], here)

    def _result(self, kind: str, event: Json, here: Here) -> None:
        name, call = as_text(event.get("tool_name")), as_id(event.get("tool_call_id"))
        call = call or f"event-{as_text(event.get('action_id')) or ''}"
        if kind == "ObservationEvent":
            blocks = self._observed(as_dict(event.get("observation")), name, call)
            blocks.extend(Block("injected", self._pool.put(text)) for text in texts_of(event.get("extended_content")))
        else:
            reason = as_text(event.get("rejection_reason"))
            text = as_text(event.get("error")) or "" if reason is None else f"Action rejected: {reason}"
            blocks = tool_results(self._pool, text, name, call, is_error=True)
        self._stream.result(call, blocks, "tool", here)

    def _observed(self, found: Json, name: str | None, call: str) -> list[Block]:
        """An observation's content; the classes of tools before they had one each kept it under other names."""
        metadata = as_dict(found.get("metadata"))
        code = as_int(metadata.get("exit_code", found.get("exit_code")))
        is_error = found.get("is_error") is True or found.get("error") is True or code not in (None, 0)
        content = next((found[key] for key in ("content", "output", "text", "message", "result", "error")
                        if isinstance(found.get(key), str | list) and found[key]), None)  # fmt: skip
        if as_text(found.get("kind")) in TERMINALS and metadata:
            content = terminal_text("".join(texts_of(content)), metadata)
        if content is None:
            rest = {key: value for key, value in found.items() if key not in ("kind", "content", "is_error")}
            content = dumps(rest) if rest else ""
        blocks = [
            one if one.kind == "image" else Block("tool_result", one.text, name, call, is_error=is_error)
            for one in self._content(content)
        ]
        return blocks or tool_results(self._pool, "", name, call, is_error=is_error)

    def _condensation(self, event: Json, here: Here) -> None:
        names = numbers_of(as_list(event.get("forgotten_event_ids")))
        folding = Folding(
            names, None, None, as_text(event.get("summary")), as_int(event.get("summary_offset")),
            as_id(event.get("llm_response_id")),
        )  # fmt: skip
        # Older versions showed the newest summary alone, whose id in the window was made up: where an id is no
        # event's, it is that one.
        made_up = any(one not in self._names and one.removesuffix(SUMMARY_ID[2:]) not in self._names for one in names)
        self._stream.fold(folding, here, drops_summary=folding.summary is not None and made_up)
