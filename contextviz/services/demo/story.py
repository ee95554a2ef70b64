"""The demo's story: an invented shop, its files and logs, told the same way every time.

Everything here is made up by us and deterministic, so that loading the demo twice changes nothing.
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

START = datetime(2026, 11, 24, 9, 12, 30, tzinfo=UTC)
CWD = "/work/shopfront"
MODULES = [
    "checkout/session",
    "checkout/locks",
    "checkout/totals",
    "cart/reserve",
    "cart/events",
    "payments/gateway_mock",
]
VERBS = ["acquire", "release", "reserve", "settle", "retry", "commit", "expire", "restore", "merge", "flush"]
NOUNS = ["lock", "total", "cart", "item", "window", "ledger", "token", "queue", "session", "price"]


class Story:
    """A source of plausible files, logs and times. `seed` decides everything."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._seconds = 0

    def id(self) -> str:
        """A fresh UUID."""
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def short_id(self) -> str:
        """Eight hex digits."""
        return f"{self._random.getrandbits(32):08x}"

    def after(self, low: int, high: int) -> datetime:
        """The next moment, `low` to `high` seconds on."""
        self._seconds += self._random.randint(low, high)
        return START + timedelta(seconds=self._seconds)

    def pick(self, choices: list[str]) -> str:
        """One of `choices`."""
        return self._random.choice(choices)

    def source_file(self, module: str, functions: int) -> str:
        """A Python file of about `functions` short functions, with numbers that a summary may lose."""
        lines = [f'"""{module.rsplit("/", 1)[-1].replace("_", " ").capitalize()} of the shop."""', ""]
        lines += ["from __future__ import annotations", "", "import logging", "", "log = logging.getLogger(__name__)"]
        lines += [f"LOCK_TTL_SECONDS = {self._random.choice([30, 45, 60])}", ""]
        for _ in range(functions):
            verb, noun = self.pick(VERBS), self.pick(NOUNS)
            lines += [
                "",
                f"def {verb}_{noun}(self, key: str, *, attempts: int = {self._random.randint(2, 9)}) -> bool:",
            ]
            lines += [f'    """{verb.capitalize()} the {noun} behind `key`."""', "    for attempt in range(attempts):"]
            lines += [f"        if self.{noun}s.try_{verb}(key, timeout={self._random.randint(1, 40) / 10}):"]
            lines += [f'            log.debug("{verb} {noun} %s after %d", key, attempt)', "            return True"]
            lines += [f"    raise {noun.capitalize()}Unavailable(key)"]
        return "\n".join(f"{number:>5}\t{line}" for number, line in enumerate(lines, start=1))

    def test_log(self, failures: int, tests: int) -> str:
        """A test run's output with `failures` failed tests."""
        seed = self._random.randint(1000, 9999)
        lines = [f"random seed: {seed}", f"collected {tests} items", ""]
        for number in range(tests):
            name = f"tests/{self.pick(MODULES).split('/')[0]}/test_{self.pick(VERBS)}_{self.pick(NOUNS)}.py"
            lines.append(
                f"{name}::test_case_{number:03d} {'FAILED' if number < failures else 'PASSED'} [{number * 100 // tests:3d}%]"
            )
        for number in range(failures):
            lines += [
                "",
                f"E   AssertionError: cart total {number} != {4990 + number}",
                f"tests/checkout/test_total.py:{88 + number}: AssertionError",
            ]
        lines.append(
            f"===== {failures} failed, {tests - failures} passed in {self._random.randint(200, 900) / 10} s ====="
        )
        return "\n".join(lines)

    def server_log(self, lines: int) -> str:
        """A server's log, long and dull, the kind a compressing engine folds first."""
        rows = []
        for _ in range(lines):
            at = START + timedelta(seconds=self._random.randint(0, 9_000))
            rows.append(
                f"{at:%Y-%m-%dT%H:%M:%S} INFO checkout.{self.pick(VERBS)} {self.pick(NOUNS)}={self.short_id()} ms={self._random.randint(2, 480)}"
            )
        return "\n".join(sorted(rows))

    def search_hits(self, hits: int) -> str:
        """What a search over the repository prints."""
        return "\n".join(
            f"src/{self.pick(MODULES)}.py:{self._random.randint(8, 400)}:    self.{self.pick(NOUNS)}.{self.pick(VERBS)}(key)"
            for _ in range(hits)
        )


def json_line(value: object) -> str:
    """One JSON line as agents write them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def iso(at: datetime) -> str:
    """ISO text with milliseconds and Z."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
