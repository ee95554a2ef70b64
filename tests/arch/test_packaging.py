"""What must be true of files that only an installation would miss. .ci/run builds and starts a real wheel."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml


def test_every_dependency_says_why(repository: Path) -> None:
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    block = text.split("\ndependencies = [", 1)[1].split("\n]", 1)[0]
    lines = [line for line in block.splitlines() if line.strip().startswith('"')]

    assert lines
    assert [line for line in lines if "#" not in line] == []


def test_every_dependency_is_locked(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, wanted in (
        ("requirements.lock", project["dependencies"]),
        ("requirements-dev.lock", project["dependencies"] + project["optional-dependencies"]["dev"]),
    ):
        locked = set(re.findall(r"^([a-z0-9._-]+)==", (repository / name).read_text(encoding="utf-8"), re.MULTILINE))
        names = {re.split(r"[\[<>=!~; ]", requirement)[0] for requirement in wanted}
        assert names - locked == set(), name


def test_the_image_copies_what_the_build_needs(repository: Path) -> None:
    image = (repository / "Dockerfile").read_text(encoding="utf-8")
    allowed = (repository / ".dockerignore").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", image, re.MULTILINE):
        for name in line.split():
            assert f"!{name}\n" in allowed, f"{name} is copied but ignored"


def test_the_composed_services_are_healthy_before_others_need_them(repository: Path) -> None:
    composed = yaml.safe_load((repository / "docker-compose.yml").read_text(encoding="utf-8"))
    services = composed["services"]

    assert set(services) == {"migrate", "web", "worker", "postgres", "redis"}
    for name in ("worker", "postgres", "redis"):
        assert "test" in services[name]["healthcheck"]
    assert services["web"]["ports"] == ["127.0.0.1:8765:8765"], "loopback only"
    assert services["web"]["depends_on"]["postgres"]["condition"] == "service_healthy"
