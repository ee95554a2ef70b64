"""The composed stack without containers: each service's command and health check as processes of this machine.

What a container would give (names of hosts, /run/secrets) is put in their place; the image itself is not built here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.operations.servers import free_port, postgres, postgres_programs, process, redis
from tests.services.building import claude_lines
from tests.stack import ROOT, wait_until

COMPOSED: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSED["services"]
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SECRETS = {"database_password": "p:ss/w@rd ü", "admin_password": "a long enough one 7", "secret_key": "k" * 50}


@dataclass
class Machine:
    """Where the services run: what stands for hosts and secrets."""

    folder: Path
    ports: dict[str, int]

    def environment(self, service: str) -> dict[str, str]:
        """What compose would set for the service, after what the image sets."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTVIZ_")}
        plain |= {"PYTHONPATH": str(ROOT), "CONTEXTVIZ_DATA_DIR": str(self.folder / "data")}
        plain["DJANGO_SETTINGS_MODULE"] = "contextviz.settings"  # not the tests' own
        for name, value in SERVICES[service].get("environment", {}).items():
            for host, port in (("postgres:5432", "postgres"), ("redis:6379", "redis")):
                value = value.replace(f"@{host}", f"@127.0.0.1:{self.ports[port]}")
                value = value.replace(f"//{host}", f"//127.0.0.1:{self.ports[port]}")
            plain[name] = value.replace("/run/secrets", str(self.folder / "secrets"))
        return plain

    def command(self, words: list[str]) -> list[str]:
        """The command as it runs here: our program by its module, and ports of this machine."""
        own = [sys.executable, str(ROOT / "manage.py"), *words[1:]] if words[0] == "contextviz" else list(words)
        here = {"8765": str(self.ports["web"]), "0.0.0.0": "127.0.0.1"}
        return [here.get(word, word) for word in own]

    def run(self, service: str, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command of the service to its end."""
        return subprocess.run(
            self.command(words), env=self.environment(service), capture_output=True, text=True, timeout=120, check=False
        )

    def is_well(self, service: str) -> bool:
        """Whether the service's health check says so."""
        return self.run(service, health_check(service)).returncode == 0


def health_check(service: str) -> list[str]:
    kind, *words = SERVICES[service]["healthcheck"]["test"]
    return shlex.split(words[0]) if kind == "CMD-SHELL" else list(words)


def write_secrets(folder: Path) -> None:
    (folder / "secrets").mkdir()
    for name, value in SECRETS.items():
        (folder / "secrets" / name).write_text(value + "\n")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """PostgreSQL and Redis by what the file says of them, and the secrets."""
    if postgres_programs() is None or shutil.which("redis-server") is None:
        pytest.skip("PostgreSQL or Redis is not installed (Debian: apt install postgresql redis-server)")
    write_secrets(tmp_path)
    given = SERVICES["postgres"]["environment"]
    with contextlib.ExitStack() as running:
        password = SECRETS[Path(given["POSTGRES_PASSWORD_FILE"]).name]
        ports = {"web": free_port()}
        ports["postgres"] = running.enter_context(postgres(given["POSTGRES_USER"], given["POSTGRES_DB"], password))
        ports["redis"] = running.enter_context(redis(tmp_path, SERVICES["redis"]["command"]))
        yield Machine(tmp_path, ports)


@pytest.mark.slow  # starts every service
@pytest.mark.worker
def test_every_service_starts_and_its_health_check_says_so(machine: Machine, tmp_path: Path) -> None:
    assert not machine.is_well("web")
    migrated = machine.run("migrate", SERVICES["migrate"]["command"])
    assert migrated.returncode == 0, migrated.stderr
    assert not machine.is_well("worker"), "none runs yet"
    with contextlib.ExitStack() as running:
        for name in ("web", "worker"):
            command = machine.command(SERVICES[name]["command"])
            running.enter_context(process(command, machine.environment(name), tmp_path / f"{name}.log"))
        wait_until(lambda: machine.is_well("web"), seconds=40, what="the health of web")
        wait_until(lambda: machine.is_well("worker"), seconds=40, what="the health of worker")
        for name in ("postgres", "redis"):
            done = machine.run(name, _with_port(machine, name))
            assert done.returncode == 0, done.stdout + done.stderr
        (tmp_path / "one.jsonl").write_text(claude_lines(2))
        imported = machine.run("web", ["contextviz", "import", str(tmp_path / "one.jsonl")])
        assert imported.returncode == 0, imported.stderr
        _sign_in(machine)
    assert "Traceback" not in (tmp_path / "web.log").read_text() + (tmp_path / "worker.log").read_text()


def _with_port(machine: Machine, name: str) -> list[str]:
    program, *rest = health_check(name)
    return [program, "-h", "127.0.0.1", "-p", str(machine.ports[name]), *rest]


def _sign_in(machine: Machine) -> None:
    """The first account was made by `migrate`, from the secret."""
    code = (
        "import django; django.setup()\n"
        "from django.test import Client\n"
        f"answer = Client(headers={{'host': '127.0.0.1'}}).post('/sign-in/', "
        f"{{'name': 'admin', 'password': {SECRETS['admin_password']!r}}})\n"
        "print(answer.status_code, answer.content.decode().partition('alert')[2][:300])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=machine.environment("web"), capture_output=True, text=True, check=False)
    assert done.stdout.startswith("303"), done.stdout + done.stderr


@pytest.mark.parametrize("service", ["migrate", "web", "worker"])
@pytest.mark.parametrize("what", ["missing", "empty"])
@pytest.mark.slow  # starts a process
def test_without_its_secrets_a_service_says_one_sentence(service: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    if what == "empty":
        for name in SECRETS:
            (tmp_path / "secrets" / name).write_text("\n")
    machine = Machine(tmp_path, {"web": 1, "postgres": 1, "redis": 1})

    done = machine.run(service, SERVICES[service]["command"])

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert re.search(r"CONTEXTVIZ_\w+_FILE names .* which (cannot be read|is empty)", done.stderr)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://u@h/name", "must look like postgres://"),
        ("postgres://u:secretpass@h:99999/name", "port"),
        ("postgres://u:secretpass@127.0.0.1:1/name", "does not answer"),
        ("postgres://u:secretpass@nowhere.invalid:5432/name", "does not answer"),
        ("postgres://u:secretpass@[::1/name", "must look like postgres://"),
        ("nonsense", "must look like postgres://"),
    ],
)
@pytest.mark.slow  # starts a process
def test_a_wrong_database_address_is_one_sentence_without_its_password(url: str, sentence: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, {"web": 0, "postgres": 1, "redis": 1})
    write_secrets(tmp_path)
    environment = {**machine.environment("web"), "CONTEXTVIZ_DATABASE_URL": url}

    commands = (["migrate", "--no-input"], ["web"], ["worker"], ["healthcheck", "worker"], ["up", "--port", "0"])
    with contextlib.ExitStack() as running:
        begun = []
        for command in commands:  # beside one another: each is a start of its own
            words = [sys.executable, str(ROOT / "manage.py"), *command]
            pipe = subprocess.PIPE
            one = subprocess.Popen(words, env=environment, text=True, stdout=pipe, stderr=pipe)
            running.enter_context(one)
            running.callback(one.kill)
            begun.append(one)
        for command, one in zip(commands, begun, strict=True):
            out, err = one.communicate(timeout=60)
            assert one.returncode in (1, 2), command
            assert sentence in err, (command, err)
            assert "Traceback" not in err, (command, err)
            assert "secretpass" not in out + err
            assert len([line for line in err.splitlines() if line.strip()]) == 1, (command, err)


def test_the_file_and_the_image_hold_together() -> None:
    command = re.search(r"^CMD (\[.*\])$", IMAGE, re.MULTILINE)
    check = re.search(r"^    CMD (\[.*\])$", IMAGE, re.MULTILINE)
    assert command
    assert check
    assert yaml.safe_load(command[1]) == SERVICES["web"]["command"]
    assert yaml.safe_load(check[1]) == health_check("web")
    users = re.findall(r"^USER (\S+)$", IMAGE, re.MULTILINE)
    assert users == ["contextviz"], "nothing runs as root"
    assert IMAGE.rindex("USER contextviz") < IMAGE.rindex("CMD [")


def test_nothing_secret_is_in_the_file_and_only_the_web_is_reached_from_outside() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

    assert not re.search(r"(?i)password:\s*\S", text.replace("database_password:", "").replace("admin_password:", ""))
    for name, service in SERVICES.items():
        assert set(service.get("secrets", [])) <= set(COMPOSED["secrets"]), name
        assert ("ports" in service) == (name == "web")
        files = [value for key, value in service.get("environment", {}).items() if key.endswith("_FILE")]
        assert {Path(value).name for value in files} == set(service.get("secrets", [])), name
    assert COMPOSED["networks"]["inside"]["internal"]
    assert (ROOT / ".gitignore").read_text().splitlines().count("secrets/") == 1
