"""Events of the application (OpenHands up to 1.x): actions and what was observed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.message import Block, Message
from contextviz.events.text import TextPool
from contextviz.sources.openhands.shapes import images_of
from contextviz.sources.openhands.stream import Folding, Here, Stream
from contextviz.sources.openhands.usage import reply_usage, totals_of
from contextviz.sources.openhands.view import numbers_of
from contextviz.sources.plain.content import blocks_of, dumps, media, tool_call, tool_results
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

Json = Mapping[str, Any]
# Bookkeeping that is in no history of an agent.
NO_EVENT = frozenset({"null", "change_agent_state", "agent_state_changed", "pause", "resume", "stop", "start",
                      "initialize", "loop_recovery", "status"})  # fmt: skip
ACTIONS = frozenset({
    "run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive", "delegate", "think", "finish",
    "reject", "call_tool_mcp", "task_tracking", "summarize", "push", "send_pr", "add_task", "modify_task", "kill",
})  # fmt: skip
OBSERVATIONS = ACTIONS | {"error", "user_rejected", "success", "mcp", "download", "chat", "message", "recall_failure",
                          "loop_detection"}  # fmt: skip
# Of an action's arguments these say how it was come by, not what was asked of the tool.
NO_ARGUMENTS = frozenset({"thought", "confirmation_state", "security_risk", "hidden", "is_confirmed", "blocking",
                          "is_input", "is_static", "cwd", "keep_prompt", "image_urls"})  # fmt: skip
FAILED = "\n[Error occurred in processing last action]"
REJECTED = ("OBSERVATION:\n", "\n[Last action has been rejected by the user]")
RECALLED = ("repo_name", "repo_directory", "repo_branch", "repo_instructions", "additional_agent_instructions", "date",
            "working_dir", "conversation_instructions")  # fmt: skip


class Application:
    """Reads the application's events into a stream."""

    def __init__(self, stream: Stream):
        self._stream = stream
        # By event: the call that it is, or "" where it is somebody's who is no model.
        self._asked: dict[str, str] = {}
        self._last: str | None = None

    @property
    def _pool(self) -> TextPool:
        """The draft's, which is another one in each reading of lines that are read on."""
        return self._stream.draft.pool

    def add(self, event: Json, here: Here, answers: str | None) -> str | None:
        """Take one event; the name of its type where that is not known. `answers` is the event that this one is about,
        where a dump says it in another way than by `cause`."""
        action = as_text(event.get("action"))
        if action is not None:
            return self._action(action, event, as_dict(event.get("args")), here)
        return self._observation(as_text(event.get("observation")) or "no type", event, here, answers)

    def _action(self, action: str, event: Json, args: Json, here: Here) -> str | None:
        stream, is_user = self._stream, event.get("source") == "user"
        if action in NO_EVENT:
            return None
        if action == "recall":
            stream.silent(here)
        elif action == "system":
            stream.say("system", "system", self._system(args), here)
        elif action == "message":
            self._message(event, args, here, is_user=is_user)
        elif action == "condensation":
            self._condensation(event, args, here)
        elif action == "condensation_request":
            stream.trigger = "requested"
            if as_dict(event.get("tool_call_metadata")):
                self._from_model(action, event, args, here, is_sent=False)
        elif is_user:
            self._asked[here.name] = ""
            text = as_text(args.get("command"))
            said = f"User executed the command:\n{text}" if action == "run" and text is not None else dumps(args)
            stream.say("user", "user", [Block("text", self._pool.put(said))], here)
        elif action in ACTIONS or as_dict(event.get("tool_call_metadata")):
            self._from_model(action, event, args, here)
            if action == "delegate":
                stream.delegate(here, as_text(args.get("agent")), _task(args))
        else:
            stream.silent(here)
            return action
        return None

    def _system(self, args: Json) -> list[Block]:
        blocks = [Block("system", self._pool.put(as_text(args.get("content")) or ""))]
        for tool in as_list(args.get("tools")):
            name = as_text(as_dict(as_dict(tool).get("function")).get("name"))
            blocks.append(Block("tools", self._pool.put(dumps(tool)), name))
        return blocks

    def _message(self, event: Json, args: Json, here: Here, *, is_user: bool) -> None:
        blocks = blocks_of(as_text(args.get("content")), self._pool)
        blocks.extend(media(self._pool, url, None) for url in images_of(args))
        if is_user:
            self._stream.say("user", "user", blocks, here, is_human=self._stream.agent is None)
            return
        thought = _reasoning(args)
        thinking = [Block("thinking", self._pool.put(thought))] if thought else []
        message = self._stream.answer([*thinking, *blocks], here)
        if event.get("source") == "agent":
            reply = as_dict(as_dict(event.get("tool_call_metadata")).get("model_response"))
            self._call(message, event, reply, here)
        self._stream.shown(message, here, blocks)

    def _from_model(self, action: str, event: Json, args: Json, here: Here, *, is_sent: bool = True) -> None:
        """A tool's call by the model. All calls of one reply are one message and one model call."""
        stream, meta = self._stream, as_dict(event.get("tool_call_metadata"))
        reply = as_dict(meta.get("model_response"))
        call = as_id(meta.get("tool_call_id")) or f"event-{here.name}"
        self._asked[here.name] = call
        self._last = here.name
        name = as_id(reply.get("id")) if meta else None
        batch = stream.batch_of(name) if name is not None else None
        if batch is not None and name is not None:
            new = [] if call in batch.calls else [call]
            blocks = [self._call_block(meta, action, args, call)] if new else []
            totals = totals_of(event.get("llm_metrics"))
            if totals is not None:
                stream.since(totals)
            stream.more_calls(batch, blocks, new, here)
            return
        said = self._said(reply, args)
        calls = _reply_calls(reply, self._pool) or [self._call_block(meta, action, args, call)]
        message = stream.answer([*said, *calls], here)
        self._call(message, event, reply, here)
        sent = [block for block in said if block.kind != "thinking"]
        if not is_sent:
            return
        if action in ("finish", "reject"):  # sent again as words; the call itself has no result
            stream.shown(message, here, sent)
        elif name is None:
            stream.shown(message, here, [*sent, *calls])
        else:
            stream.calls(name, message, [*sent, *calls], [one.tool_call_id or "" for one in calls], here)

    def _call_block(self, meta: Json, action: str, args: Json, call: str) -> Block:
        asked = {key: value for key, value in args.items() if key not in NO_ARGUMENTS and value not in (None, "")}
        return tool_call(self._pool, as_text(meta.get("function_name")) or action, asked, call)

    def _said(self, reply: Json, args: Json) -> list[Block]:
        """What the model said and thought beside its calls."""
        answer = _answer(reply)
        blocks: list[Block] = []
        thought = as_text(answer.get("reasoning_content")) or _reasoning(args)
        if thought:
            blocks.append(Block("thinking", self._pool.put(thought)))
        content = answer.get("content") if answer else None
        if content is None:
            content = as_text(args.get("thought")) or as_text(as_dict(args.get("thought")).get("text"))
        blocks.extend(blocks_of(content, self._pool))
        return blocks

    def _call(self, message: Message, event: Json, reply: Json, here: Here) -> None:
        more, cost = self._stream.since(totals_of(event.get("llm_metrics")))
        self._stream.called(message, reply_usage(reply.get("usage")), as_id(reply.get("id")), here,
                            model=as_text(reply.get("model")), more=more, cost=cost)  # fmt: skip

    def _condensation(self, event: Json, args: Json, here: Here) -> None:
        folding = Folding(
            numbers_of(as_list(args.get("forgotten_event_ids"))), as_int(args.get("forgotten_events_start_id")),
            as_int(args.get("forgotten_events_end_id")), as_text(args.get("summary")),
            as_int(args.get("summary_offset")),
        )  # fmt: skip
        # Only the newest summary is shown; one without a summary leaves the last one where it is.
        totals = totals_of(event.get("llm_metrics"))
        self._stream.fold(folding, here, drops_summary=folding.summary is not None, totals=totals)

    def _observation(self, kind: str, event: Json, here: Here, answers: str | None) -> str | None:
        stream, extras = self._stream, as_dict(event.get("extras"))
        meta = as_dict(event.get("tool_call_metadata"))
        if kind in NO_EVENT:
            return None
        if kind == "recall":
            self._recalled(event, extras, here)
            return None
        if kind == "condense":
            stream.say("user", kind, [Block("summary", self._pool.put(as_text(event.get("content")) or ""))], here)
            return None
        cause = answers if answers is not None else _name(event.get("cause"))
        if stream.awaits(cause) or (kind == "delegate" and cause is None):
            stream.back()
        if kind not in OBSERVATIONS and not meta and cause not in self._asked:
            stream.silent(here)
            return kind
        blocks = self._given(kind, event, extras)
        call = as_id(meta.get("tool_call_id")) or self._asked.get(cause or self._last or "")
        if meta and call:
            stream.result(call, _as_results(blocks, call, as_text(meta.get("function_name"))), kind, here)
        elif call:
            stream.say("tool", kind, _as_results(blocks, call, None), here)
        else:
            stream.say("user", kind, [_as_text(block) for block in blocks], here)
        return None

    def _given(self, kind: str, event: Json, extras: Json) -> list[Block]:
        """An observation as the model is given it: the client writes some lines round what a command printed."""
        content = as_text(event.get("content")) or ""
        metadata, code = as_dict(extras.get("metadata")), as_int(extras.get("exit_code"))
        if kind == "run" and metadata:
            content, code = terminal_text(content, metadata), as_int(metadata.get("exit_code"))
        elif kind == "error":
            content += FAILED
        elif kind == "user_rejected":
            content = content.join(REJECTED)
        is_error = kind in ("error", "user_rejected") or (kind == "run" and code not in (None, 0))
        blocks = tool_results(self._pool, content, None, None, is_error=is_error)
        blocks.extend(media(self._pool, url, None) for url in images_of(extras))
        return blocks

    def _recalled(self, event: Json, extras: Json, here: Here) -> None:
        """What the client looked up for the model: its parts are written, the words that it puts round them are not."""
        parts = [f"{key}: {value}" for key in RECALLED if (value := as_text(extras.get(key)))]
        hosts = as_dict(extras.get("runtime_hosts"))
        parts.extend([dumps(hosts)] if hosts else [])
        for one in as_list(extras.get("microagent_knowledge")):
            parts.append(as_text(as_dict(one).get("content")) or "")
        text = "\n\n".join(part for part in parts if part)
        if not text:
            self._stream.silent(here)
            return
        block = Block("injected", self._pool.put(text))
        self._stream.say(
            "user", "recall", [block], here, reason="recalled by the client; its own words are not written"
        )


def terminal_text(content: str, metadata: Json) -> str:
    """What a command printed, with where and how it ended, as both generations of the client write it for the model."""
    text = (as_text(metadata.get("prefix")) or "") + content + (as_text(metadata.get("suffix")) or "")
    folder, python = as_text(metadata.get("working_dir")), as_text(metadata.get("py_interpreter_path"))
    text += f"\n[Current working directory: {folder}]" if folder else ""
    text += f"\n[Python interpreter: {python}]" if python else ""
    code = metadata.get("exit_code")
    is_told = isinstance(code, int) and not isinstance(code, bool) and code != -1
    return f"{text}\n[Command finished with exit code {code}]" if is_told else text


def _name(value: Any) -> str | None:
    return str(value) if isinstance(value, int | str) and not isinstance(value, bool) and value != "" else None


def _task(args: Json) -> str | None:
    inputs = as_dict(args.get("inputs"))
    return as_text(inputs.get("task")) or as_text(args.get("task"))


def _reasoning(args: Json) -> str | None:
    return as_text(as_dict(args.get("thought")).get("reasoning_content"))


def _answer(reply: Json) -> Json:
    choices = as_list(reply.get("choices"))
    return as_dict(as_dict(choices[0]).get("message")) if choices else {}


def _reply_calls(reply: Json, pool: TextPool) -> list[Block]:
    """The calls of a whole reply, where it is kept with the event."""
    blocks = []
    for one in as_list(_answer(reply).get("tool_calls")):
        function = as_dict(as_dict(one).get("function"))
        call = as_id(as_dict(one).get("id"))
        if call is not None:
            blocks.append(tool_call(pool, function.get("name"), function.get("arguments"), call))
    return blocks


def _as_results(blocks: list[Block], call: str, name: str | None) -> list[Block]:
    return [Block("tool_result", one.text, name, call, is_error=one.is_error) if one.kind == "tool_result" else one
            for one in blocks]  # fmt: skip


def _as_text(block: Block) -> Block:
    return Block("text", block.text) if block.kind == "tool_result" else block
