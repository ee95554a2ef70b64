"""Take the README's pictures of the demo's pages, light and dark: python scripts/screenshots.py [NAME…] [lab=FOLDER].

With `lab=FOLDER` the Lab is shown on the session in that folder instead of the demo's. Starts an own server on a data
folder that is thrown away; needs Chromium and the test tools. The pictures are committed, 1440 by 900, each below
200 KB.
"""

from __future__ import annotations

import base64
import itertools
import os
import struct
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 200_000
PORT = 8997
LAB_WINDOW, LAB_CALL = 90_000, 62
LAB_OTHER_WINDOW, LAB_OTHER_CALL = 20_000, 40
WANTED = [name for name in sys.argv[1:] if "=" not in name]
LAB_FOLDER = next((name.partition("=")[2] for name in sys.argv[1:] if name.startswith("lab=")), "")


@contextmanager
def server() -> Iterator[tuple[str, dict[str, Any]]]:
    """A server with the demo: its address and the cookie of a person who is signed in."""
    import uvicorn
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from contextviz.asgi import application
    from contextviz.services.access import local_owner
    from tests.e2e.walking import load_demo

    call_command("migrate", verbosity=0)
    owner = local_owner()
    load_demo()
    client = Client()
    client.force_login(owner)
    url = f"http://127.0.0.1:{PORT}"
    cookie = {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }
    running = uvicorn.Server(
        uvicorn.Config(
            application, host="127.0.0.1", port=PORT, lifespan="off", log_level="error", timeout_graceful_shutdown=3
        )
    )
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)
    yield url, cookie
    running.should_exit = True
    thread.join(10)


def pages() -> dict[str, str]:
    """The pages to show, by the picture's name."""
    from django.urls import reverse

    from contextviz.store.queries import sessions, summaries

    rows = {row.format: row for row in sessions.recent_sessions(50)}
    talk, store, topics = rows["claude-code"], rows["lossless-claw"], rows["conversation-map"]
    node = max(summaries.nodes(store.id), key=lambda one: one.depth or 0)
    return {
        "library": reverse("library"),
        "session": f"{reverse('session', args=[talk.id])}?a=31&b=34",
        "context": f"{reverse('call', args=[talk.id, 34])}?a=31",
        "compaction": reverse("compaction", args=[talk.id, 2]),
        "graph": f"{reverse('graph', args=[store.id])}?node={node.id}",
        "budget": reverse("budget", args=[talk.id]),
        "topics": reverse("topic_map", args=[topics.id]),
        "lab": lab(talk.id, LAB_WINDOW, LAB_CALL) if not LAB_FOLDER else other_lab(),
    }


def other_lab() -> str:
    """The Lab with the session in LAB_FOLDER that has the most calls."""
    from django.core.management import call_command

    from contextviz.store.models import SessionRecord

    known = set(SessionRecord.objects.values_list("pk", flat=True))
    call_command("import", LAB_FOLDER, verbosity=0)
    found = SessionRecord.objects.exclude(pk__in=known).order_by("-call_count").first() or SessionRecord.objects.get(
        source_id=os.environ["CONTEXTVIZ_LAB_SESSION"]
    )
    os.environ["CONTEXTVIZ_LAB_SESSION"] = found.source_id
    return lab(found.pk, LAB_OTHER_WINDOW, LAB_OTHER_CALL)


def lab(session_id: int, window: int, call: int) -> str:
    """The Lab with a session replayed by engines that make something different of it, in a window that is small enough
    for it to matter."""
    from django.urls import reverse
    from django.utils import timezone

    from contextviz.services import replay

    keys = []
    for engine in ("keep-tail", "flowctx", "lossless", "recorded"):
        measure = replay.Measure(window=None if engine == "recorded" else window)
        started = replay.start_run(session_id, engine, measure=measure, now=timezone.now())
        if started.is_new and started.job_id is not None:
            replay.execute_run(started.job_id)
        keys.append(started.run_id.hex[-8:])
    return f"{reverse('lab', args=[session_id])}?runs=recorded,{','.join(keys[:3])}&call={call}"


def growing() -> dict[str, str]:
    """The page of what happens now, with something that does."""
    from django.urls import reverse

    from tests.live.growing import three_sessions

    three_sessions()
    return {"live": reverse("live")}


PIXELS = """async (picture) => {
  const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const parts = [];
  for (let at = 0; at < data.length; at += 32768) parts.push(String.fromCharCode(...data.subarray(at, at + 32768)));
  return [bitmap.width, bitmap.height, btoa(parts.join(""))];
}"""


def smaller(blank: Any, data: bytes) -> bytes:
    """The picture with its 256 commonest colours, which a page of flat surfaces does not miss; `blank` decodes it."""
    width, height, text = blank.evaluate(PIXELS, base64.b64encode(data).decode())
    pixels = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(-1, 4)[:, :3].astype(np.uint32)
    packed = (pixels[:, 0] << 16) | (pixels[:, 1] << 8) | pixels[:, 2]
    colours, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    channels = np.stack([colours >> 16, (colours >> 8) & 255, colours & 255], axis=1).astype(np.int64)
    palette = channels[np.argsort(-counts, kind="stable")[:256]]
    nearest = ((channels[:, None, :] - palette[None, :, :]) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = nearest[places].reshape(height, width)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    ]
    framed = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def main() -> int:
    """Take all of them; 1 where one is too large."""
    import django

    django.setup()
    from playwright.sync_api import sync_playwright

    from tests.conftest import CHROMIUM_FLAGS, find_chromium
    from tests.e2e.walking import wait_drawn

    IMAGES.mkdir(parents=True, exist_ok=True)
    too_large = []
    with server() as (url, cookie), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        blank = browser.new_page()
        # What grows comes last: it would stand in the Library of the demo.
        for chosen, theme in itertools.product((pages, growing), ("light", "dark")):
            context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
            context.add_cookies([cookie, {"name": "contextviz_theme", "value": theme, "url": url}])
            page = context.new_page()
            for name, address in chosen().items():
                if WANTED and name not in WANTED:
                    continue
                page.goto(url + address)
                wait_drawn(page)
                page.wait_for_timeout(400)
                data = smaller(blank, page.screenshot())
                (IMAGES / f"{name}-{theme}.png").write_bytes(data)
                print(f"{name}-{theme}.png: {len(data):,} bytes")
                too_large += [name] if len(data) > MOST_BYTES else []
        browser.close()
    for name in too_large:
        print(f"{name} is larger than {MOST_BYTES:,} bytes.", file=sys.stderr)
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory(prefix="contextviz-pictures-") as folder:
        os.environ.update(
            CONTEXTVIZ_DATA_DIR=folder, DJANGO_SETTINGS_MODULE="contextviz.settings", DJANGO_ALLOW_ASYNC_UNSAFE="1"
        )
        sys.exit(main())
