from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse
from django.utils import timezone

from contextviz.cli.addresses import DEFAULT_PORT
from contextviz.cli.database import migrate
from contextviz.cli.running import recorded_port
from contextviz.services import export
from contextviz.services.accounts.audit import note
from contextviz.services.export import Decision, Decisions, ExportRefused
from contextviz.store.queries import sessions
from contextviz.store.values import NotFound, SessionRow

NO_SESSION = 2
LISTED = 50
BY = "command line"  # in the list of acts
REASON = "allowed on the command line"


class Command(BaseCommand):
    help = "Write a session as JSON, Markdown or HTML, secrets masked. What cannot be masked with certainty stops it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("session", metavar="SESSION", help="a session's number, or its own id")
        forms = parser.add_mutually_exclusive_group()
        forms.add_argument("--json", dest="form", action="store_const", const="json", help="everything, as one object")
        forms.add_argument("--md", dest="form", action="store_const", const="md", help="to read, as Markdown")
        forms.add_argument("--html", dest="form", action="store_const", const="html", help="to read, as one HTML file")
        parser.add_argument("--output", metavar="FILE", help="where to write it (default: standard output)")
        parser.add_argument("--mask", action="append", default=[], metavar="PLACE", help="mask this place; all for all")
        parser.add_argument("--allow", action="append", default=[], metavar="PLACE", help="keep this place as it is")
        parser.add_argument("--reason", default=REASON, help="why places are kept; it stands in the copy")
        parser.add_argument("--unmasked", action="store_true", help="mask nothing at all")
        parser.set_defaults(form="json")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["unmasked"] and (options["mask"] or options["allow"]):
            raise CommandError("--unmasked masks nothing, so it does not go with --mask or --allow.", returncode=2)
        migrate()
        row = _session_of(options["session"])
        try:
            self._write(row, options)
        except ExportRefused as refused:
            self._explain(row, refused)
            raise CommandError(str(refused)) from refused
        except NotFound as error:
            raise CommandError(str(error), returncode=NO_SESSION) from error

    def _write(self, row: SessionRow, options: dict[str, Any]) -> None:
        now, form = timezone.now(), options["form"]
        if options["unmasked"]:
            with export.copied_unmasked(row.id, form, now=now) as stream:
                # Before anything leaves: a reader that goes away in the middle has seen what came until then.
                note("secret_unmasked", target=f"export of session {row.id}, unmasked", name=BY)
                self._hand_on(stream, options["output"])
            self.stderr.write("Nothing is masked in this copy: it holds every secret that the session holds.")
            return
        report = export.look_through(row.id)
        decisions = _decisions(options)
        kept = report.kept(decisions)
        with export.copied(report, form, decisions, now=now) as stream:
            if kept:
                note("secret_unmasked", target=f"export of session {row.id}: {len(kept)} kept", name=BY)
            self._hand_on(stream, options["output"])
        masked = sum(one.count for one in report.masked(decisions)) + report.uncounted
        self.stderr.write(f"{masked} masked, {len(kept)} kept by decision.")

    def _hand_on(self, stream: IO[bytes], output: str | None) -> None:
        if output is None:
            self._print(stream)
            return
        path = Path(output)
        try:
            # Written beside it and renamed: a full disk leaves no half copy, and only its owner may read it.
            handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.")
            try:
                with os.fdopen(handle, "wb") as target:
                    shutil.copyfileobj(stream, target)
                Path(aside).replace(path)
            except BaseException:
                Path(aside).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error.strerror}. Name another --output.") from error
        self.stderr.write(f"Written to {output}.")

    def _print(self, stream: IO[bytes]) -> None:
        out = getattr(self.stdout, "buffer", None)
        if out is not None:
            shutil.copyfileobj(stream, out)
            return
        for line in stream:
            self.stdout.write(line.decode(), ending="")

    def _explain(self, row: SessionRow, refused: ExportRefused) -> None:
        for place in refused.places[:LISTED]:
            times = f", {place.count} times" if place.count > 1 else ""
            self.stderr.write(f"  {place.id}\n      {_plain(place.where)}{times}: {place.kind.replace('_', ' ')}, "
                              f"{place.reason}\n      {_plain(place.context)}")  # fmt: skip
        if len(refused.places) > LISTED:
            self.stderr.write(f"  and {len(refused.places) - LISTED} more")
        if refused.places:
            address = f"http://127.0.0.1:{recorded_port() or DEFAULT_PORT}{reverse('export', args=[row.id])}"
            self.stderr.write(
                "Look at each, then run this again with --mask PLACE (or --mask all), or --allow PLACE --reason WHY to "
                f"keep it; or decide in the browser: {address}"
            )


def _decisions(options: dict[str, Any]) -> Decisions:
    by_place = {place: Decision("mask") for place in options["mask"] if place != "all"}
    by_place |= {place: Decision("keep", options["reason"]) for place in options["allow"]}
    return Decisions(by_place, mask_all="all" in options["mask"])


def _session_of(name: str) -> SessionRow:
    if name.isascii() and name.isdigit() and len(name) < 19:
        found = sessions.find_sessions([int(name)])
        if found:
            return found[0]
    named = sessions.named(name)
    if not named:
        raise CommandError(
            f"There is no session {name[:80]!r} here; name its number (as in /sessions/7/) or its own id.",
            returncode=NO_SESSION,
        )
    if len(named) > 1:
        numbers = ", ".join(str(row.id) for row in named)
        raise CommandError(f"Several sessions have this id; name one by its number: {numbers}.", returncode=NO_SESSION)
    return named[0]


def _plain(text: str) -> str:
    # A transcript's words must not drive the terminal.
    return "".join(char if char.isprintable() else " " for char in text)
