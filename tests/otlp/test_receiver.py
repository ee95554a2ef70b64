"""The receiver's answers: what is taken, from whom, and what is said of everything else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from contextviz.services.api_keys import create_key, revoke_key
from contextviz.services.ingest import digest
from contextviz.services.otlp import MOST_BYTES
from contextviz.store.models import InboxCountRecord, InboxRecord, InboxStreamRecord, JobRecord, SessionRecord
from tests.store.building import NOW

pytestmark = pytest.mark.django_db
PROTOBUF, JSON = "application/x-protobuf", "application/json"


def pair(key: str, value: str | int) -> dict[str, Any]:
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


def span(number: int = 1, **attributes: str | int) -> dict[str, Any]:
    told = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 2}
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "traceId": "ab" * 16, "spanId": f"{number:016x}", "name": "chat",
        "startTimeUnixNano": "1772359200000000000", "endTimeUnixNano": "1772359201000000000",
        "attributes": [pair(key, value) for key, value in {**told, **named}.items()],
    }  # fmt: skip


def export(*spans: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def post(body: bytes, content_type: str = JSON, signal: str = "traces", **headers: str) -> Any:
    return Client().post(f"/v1/{signal}", body, content_type=content_type, headers=headers)


def protobuf(spans: int = 1) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(spans):
        one = scope.spans.add(trace_id=b"\x01" * 16, span_id=number.to_bytes(8, "big"), name="chat")
        one.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    return bytes(request.SerializeToString())


def test_json_and_protobuf_are_answered_in_their_own_form() -> None:
    told = post(export(span()))
    assert (told.status_code, told["Content-Type"], told.content) == (200, JSON, b"{}")
    told = post(protobuf(), PROTOBUF)
    assert (told.status_code, told["Content-Type"]) == (200, PROTOBUF)
    ExportTraceServiceResponse.FromString(told.content)
    assert InboxRecord.objects.count() == 2


def test_what_is_sent_twice_is_one_and_opens_one_digest() -> None:
    for _ in range(3):
        assert post(export(span(1), span(2))).status_code == 200
    assert InboxRecord.objects.count() == 2
    assert JobRecord.objects.filter(kind="digest").count() == 1


def test_a_conversation_that_is_named_late_takes_what_came_before() -> None:
    post(export(span(1)))
    assert InboxStreamRecord.objects.get().name == f"trace-{'ab' * 16}"
    post(export(span(2, gen_ai__conversation__id="talk")))
    post(export(span(3)))
    streams = {stream.name: stream.rows.count() for stream in InboxStreamRecord.objects.all()}
    assert streams == {f"trace-{'ab' * 16}": 0, "talk": 3}


def test_a_digest_of_what_went_over_to_its_conversation_ends_well(data_dir: Path) -> None:
    post(export(span(1)))
    post(export(span(2, gen_ai__conversation__id="talk")))
    for job_id in JobRecord.objects.order_by("created_at").values_list("pk", flat=True):
        digest(job_id)
    assert [job.state for job in JobRecord.objects.all()] == ["done", "done"]
    assert [(one.source_id, one.call_count) for one in SessionRecord.objects.all()] == [("talk", 2)]


def test_many_traces_of_one_conversation_cost_few_queries(django_assert_max_num_queries: Any) -> None:
    spans = [{**span(n, gen_ai__conversation__id="talk"), "traceId": f"{n + 1:032x}"} for n in range(1500)]
    with django_assert_max_num_queries(200):
        assert post(export(*spans)).status_code == 200
    assert InboxStreamRecord.objects.get(name="talk").rows.count() == 1500
    late = {**span(9000), "traceId": f"{700:032x}"}
    assert post(export(late)).status_code == 200
    assert InboxStreamRecord.objects.get(name="talk").rows.count() == 1501


def test_too_many_conversations_in_one_export_are_a_partial_success() -> None:
    told = post(export(*(span(n, gen_ai__conversation__id=f"talk-{n}") for n in range(230))))
    assert json.loads(told.content)["partialSuccess"]["rejectedSpans"] == "30"
    assert "200 conversations" in told.content.decode()


def test_a_value_nested_too_deeply_is_rejected_and_the_others_kept() -> None:
    deep = span(2)
    deep["attributes"].append({"key": "gen_ai.input.messages", "value": nested(60)})
    told = post(export(span(1), deep))
    assert (told.status_code, json.loads(told.content)["partialSuccess"]["rejectedSpans"]) == (200, "1")


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(depth):
        value = {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
    return value


def test_gzip_is_unpacked_and_what_nobody_reads_is_counted() -> None:
    inner = {"spanId": "1" * 16, "traceId": "2" * 32, "name": "fs.read_file", "attributes": []}
    body = gzip.compress(export(span(), inner, inner))
    assert post(body, **{"Content-Encoding": "gzip"}).status_code == 200
    assert InboxCountRecord.objects.get().count == 2
    assert InboxRecord.objects.count() == 1


def test_a_record_that_is_none_is_a_partial_success() -> None:
    told = post(export(span(), "not a span", 7))
    assert told.status_code == 200
    assert json.loads(told.content)["partialSuccess"]["rejectedSpans"] == "2"
    assert InboxRecord.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "status", "words"),
    [
        (b"\xff\xff\xff", PROTOBUF, "", 400, "not protobuf"),
        (b"{", JSON, "", 400, "not JSON"),
        (b"[]", JSON, "", 400, "no list resourceSpans"),
        (gzip.compress(export(span()))[:-9], JSON, "gzip", 400, "ends too early"),
        (export(span()), JSON, "gzip", 400, "not gzip"),
        (export(span()), JSON, "br", 415, "br is not known"),
        (export(span()), "text/plain", "", 415, "content type"),
        (gzip.compress(b"\x00" * (MOST_BYTES + 1)), PROTOBUF, "gzip", 413, "64 MiB"),
    ],
)
def test_what_is_no_export_is_refused_with_a_sentence_and_changes_nothing(
    body: bytes, content_type: str, encoding: str, status: int, words: str
) -> None:
    told = post(body, content_type, **({"Content-Encoding": encoding} if encoding else {}))
    assert told.status_code == status
    assert words in told.content.decode("utf-8", errors="replace")
    assert not InboxRecord.objects.exists()


def test_fifty_megabytes_in_one_post_are_taken() -> None:
    big = span(1, gen_ai__prompt="x" * (50 * 1000 * 1000))
    assert post(export(big)).status_code == 200
    assert InboxRecord.objects.count() == 1


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Mode": "cors"}])
def test_browsers_are_refused(headers: dict[str, str]) -> None:
    assert post(export(span()), **headers).status_code == 403
    assert post(export(span()), Host="evil.example").status_code == 400
    assert not InboxRecord.objects.exists()


def test_a_key_is_needed_where_others_can_reach_the_server(settings: Any) -> None:
    settings.LISTENS_ON_LOOPBACK = False
    told = post(export(span()))
    assert told.status_code == 401
    assert "OTEL_EXPORTER_OTLP_HEADERS" in json.loads(told.content)["message"]
    person = User.objects.create(username="p", is_staff=True)
    reader, reading = create_key(person.pk, label="r", scopes=["read"], now=NOW)
    row, key = create_key(person.pk, label="i", scopes=["ingest"], now=NOW)
    assert post(export(span()), Authorization=f"Bearer {reading}").status_code == 403
    assert post(export(span()), Authorization=f"Bearer {key}").status_code == 200
    assert InboxStreamRecord.objects.get().person_id == person.pk
    revoke_key(row.id, now=NOW, user_id=person.pk)
    assert post(export(span(2)), Authorization=f"Bearer {key}").status_code == 401
    assert reader.scopes == ("read",)


def test_a_proxy_in_front_hides_who_sends_so_a_key_is_needed() -> None:
    assert post(export(span()), **{"X-Forwarded-For": "10.0.0.1"}).status_code == 401


def test_only_posts_are_exports() -> None:
    assert Client().get("/v1/traces").status_code == 405


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(min_size=1, max_size=400), content_type=st.sampled_from([PROTOBUF, JSON]),
       signal=st.sampled_from(["traces", "logs", "metrics"]))  # fmt: skip
def test_any_bytes_get_an_answer(body: bytes, content_type: str, signal: str) -> None:
    assert post(body, content_type, signal).status_code in (200, 400)
