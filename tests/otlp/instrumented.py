"""A program that is instrumented with OpenTelemetry's own SDK and the GenAI conventions: two calls of one talk.

Run with the address of the receiver, and the headers that the exporter sends (none: an empty argument).
"""

from __future__ import annotations

import json
import sys

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def say(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def main(address: str, headers: str) -> None:
    provider = TracerProvider(resource=Resource.create({"service.name": "weather-bot"}))
    exporter = OTLPSpanExporter(
        endpoint=f"{address}/v1/traces", headers=json.loads(headers) if headers else None, compression=Compression.Gzip
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("weather-bot")
    talk: list[dict[str, object]] = []
    with tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}) as agent:
        agent.set_attribute("gen_ai.conversation.id", "talk-of-the-weather")
        for number, (asked, answered) in enumerate([("Rain today?", "None."), ("And tomorrow?", "A little.")]):
            talk.append(say("user", asked))
            with tracer.start_as_current_span("chat small-1") as call:
                call.set_attributes({
                    "gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1",
                    "gen_ai.response.id": f"answer-{number}", "gen_ai.usage.input_tokens": 100 + 50 * number,
                    "gen_ai.usage.cache_read.input_tokens": 90 * number, "gen_ai.usage.output_tokens": 7,
                    "gen_ai.input.messages": json.dumps(talk),
                    "gen_ai.output.messages": json.dumps([say("assistant", answered)]),
                })  # fmt: skip
            talk.append(say("assistant", answered))
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
