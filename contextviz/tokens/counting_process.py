"""The process behind tokens.counting: batches of texts on standard input, their token counts on standard output."""

from __future__ import annotations

import signal
import sys
from array import array
from itertools import pairwise
from typing import IO

from contextviz.tokens.counting import receive, receive_numbers, send
from contextviz.tokens.estimate import estimate


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Answer batches until the input ends."""
    while True:
        try:
            sizes = receive_numbers(source)
        except EOFError:
            return
        body = receive(source, sum(sizes))
        ends = [0]
        for size in sizes:
            ends.append(ends[-1] + size)
        send(target, array("I", [estimate(body[start:end].decode()) for start, end in pairwise(ends)]))


def main() -> None:
    """Serve whoever started this process. Ctrl-C reaches the whole terminal group; the end of the input ends us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
