"""Budget tables as they are kept: bounded, opened as they were packed, whatever a transcript writes."""

from __future__ import annotations

import pytest

from contextviz.analysis.budget import budget
from contextviz.analysis.composition import compositions
from contextviz.events.usage import TokenUsage
from contextviz.services.budget.tables import opened_budget, packed_budget
from tests.analysis.building import Builder
from tests.analysis.test_budget import fixed, use


def texts(builder: Builder):
    return lambda refs: {ref.digest: builder.pool.get(ref) for ref in refs}


def busy() -> Builder:
    builder = Builder()
    window = fixed(builder)
    for number in range(40):
        window = [*window, *use(builder, "Read", {"file_path": f"src/f{number % 7}.py"}, "x " * 50, call=number)]
        builder.call(window, 150 + 60 * number, cache_read=140 + 50 * number)
    return builder


def test_a_table_is_opened_as_it_was_packed():
    builder = busy()
    made = builder.transcript
    found = compositions(made)

    packed = packed_budget(made, found, builder.pool)

    assert opened_budget(packed) == budget(made, found, texts(builder))


def test_a_table_stays_small_whatever_the_session_holds():
    builder = Builder()
    window = fixed(builder)
    for number in range(700):
        window = [
            *window,
            *use(builder, f"tool{number}" * 40, {"file_path": f"{'d/' * 200}f{number}.py"}, f"r {number}"),
        ]
    builder.call(window, 10_000, model="m" * 100_000)

    packed = packed_budget(builder.transcript, compositions(builder.transcript), builder.pool)

    table = opened_budget(packed)
    assert len(packed) < 60_000
    assert (table.tool_count, table.file_count, len(table.tools), len(table.files)) == (700, 700, 60, 100)
    assert sum(group.carry for group in table.groups) + table.carry_residual == 10_000


@pytest.mark.parametrize("name", ["bad\ud800.py", "nul\x00.py"])
def test_names_that_no_database_takes_are_kept_cleaned(name: str):
    builder = Builder()
    window = [*fixed(builder), *use(builder, "Read", {"file_path": name}, "x " * 20, call=0)]
    call = builder.call(window, 200)
    call.usage = TokenUsage(input_tokens=200, output_tokens=2**70)

    table = opened_budget(packed_budget(builder.transcript, compositions(builder.transcript), builder.pool))

    (file,) = table.files
    assert "\ud800" not in file.path
    assert "\x00" not in file.path
