"""Guests of released clients: their locks, features files, and what a machine lacks for them."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from cluster import toolchains
from cluster.toolchains import GCC, GO, JAVAC, javac_command, problem_of
from contract.errors import DistributionError, PrerequisiteError, UsageError
from extras.conform.released import building
from extras.conform.released.building import (
    GUESTS,
    Release,
    clients,
    ensure,
    problem,
    release_of,
    releases,
    releases_of,
)
from extras.conform.released.rows import newest

_RELEASES = pytest.mark.parametrize("release", releases(), ids=lambda release: release.named)
_CLIENTS = pytest.mark.parametrize("client", clients())
LEVELS = {"delivers", "commits", "positions"}


def test_there_are_three_releases_of_each_client_that_is_no_framework() -> None:
    named = [row.release.client for row in newest() if row.release]
    of = {client: [release.version for release in releases_of(client)] for client in named}
    assert {client for client, versions in of.items() if len(versions) < 3} == set()
    assert of["franz-go"][-1] == "1.21.7", "the one before 1.22, run for franz-go 1331"


@_RELEASES
def test_a_lock_is_of_its_release_and_names_no_host_of_packages(release: Release) -> None:
    texts = [path.read_text() for path in release.locks]
    module = release.module
    match release.language:
        case "go":
            assert f"{module} v{release.version}\n" in texts[0]
            assert f"{module} v{release.version} h1:" in texts[1]
        case "javascript":
            locked = json.loads(texts[1])["packages"]
            assert json.loads(texts[0])["dependencies"] == {module: release.version}
            assert locked[f"node_modules/{module}"]["version"] == release.version
            assert all(package.get("integrity") for path, package in locked.items() if path)
            assert not any("resolved" in package for package in locked.values())
        case "java":
            lines = texts[0].splitlines()
            assert [line for line in lines if line.startswith(f"{module}:{release.version} ")]
            assert "://" not in texts[0]
        case "rust":
            assert f'{module} = {{ version = "={release.version}"' in texts[0]
            named = f'name = "{module}"\nversion = "{release.version}"\n'
            assert f'{named}checksum = "' in texts[1]
            assert "://" not in texts[1]
        case "python":
            assert f"{module}=={release.version} \\\n    --hash=sha256:" in texts[0]
            assert "://" not in texts[0]
    hosts = ("npmjs .org", "proxy.golang .org", "pypi .org")
    assert not [host for host in hosts if host.replace(" ", "") in "".join(texts)]


@_CLIENTS
def test_a_features_file_says_what_its_guest_does(client: str) -> None:
    release = releases_of(client)[0]
    features = yaml.safe_load(release.features.read_text())
    assert features["level"] in LEVELS
    assert set(features["commits"]) <= {"explicit", "automatic"}
    assert all(claim["document"] for claim in features.get("claims", {}).values())
    source = next(path for path in release.sources if path.parent == release.source).read_text()
    assert ("none" in features["resets"]) == ("Unsupported" not in source)
    assert (features["level"] == "positions") == bool(
        re.search(r"positions\W*(: |= )", source.lower())
    )


def test_a_release_is_named_with_its_version_or_is_the_newest() -> None:
    assert release_of("franz-go@1.21.7").version == "1.21.7"
    assert release_of("kafkajs") == releases_of("kafkajs")[0]
    with pytest.raises(UsageError, match=r"kafkajs.*0\.1"):
        release_of("kafkajs@0.1")
    with pytest.raises(UsageError, match="kafka-js"):
        release_of("kafka-js")


def test_a_missing_toolchain_is_named_with_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchains, "version_of", lambda _: None)
    with pytest.raises(PrerequisiteError, match=r"franz-go@1\.22\.3: go is not .* not evaluable"):
        ensure(release_of("franz-go@1.22.3"))
    monkeypatch.setattr(toolchains, "version_of", lambda _: "1.9.7")
    assert problem_of(GO, "1.10.0") is not None
    monkeypatch.setattr(toolchains, "version_of", lambda _: "1.10.0")
    assert problem_of(GO, "1.9.7") is None


def test_librdkafka_in_go_needs_gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchains, "version_of", lambda tool: None if tool is GCC else "99.0")
    with pytest.raises(PrerequisiteError, match=r"confluent-kafka-go@.*: gcc is not .* not eval"):
        ensure(release_of("confluent-kafka-go"))
    assert problem(release_of("franz-go")) is None


def test_groups_of_kip_848_have_the_source_and_locks_of_their_client() -> None:
    consumer, classic = release_of("franz-go-consumer"), release_of("franz-go")
    assert (consumer.sources, consumer.locks) == (classic.sources, classic.locks)
    assert consumer.features != classic.features
    assert "1.21.7" not in {release.version for release in releases_of("franz-go-consumer")}


@pytest.fixture
def guest_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """A copy of the guest in Python, whose lock names no packages."""
    shutil.copytree(GUESTS, tmp_path / "guests")
    monkeypatch.setattr(building, "GUESTS", tmp_path / "guests")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    release = release_of("aiokafka")
    release.locks[0].write_text("")
    return release


def test_a_guest_is_built_once_and_again_when_it_was_changed(guest_of_nothing: Release) -> None:
    program = Path(ensure(guest_of_nothing)[-1])
    source = program.read_text()
    written = program.stat().st_mtime_ns
    assert ensure(guest_of_nothing)[-1] == str(program)
    assert program.stat().st_mtime_ns == written
    program.write_text("")
    assert Path(ensure(guest_of_nothing)[-1]).read_text() == source


def test_a_changed_source_is_another_folder(guest_of_nothing: Release) -> None:
    first = ensure(guest_of_nothing)
    with (guest_of_nothing.source / "guest.py").open("a") as source:
        source.write("# changed\n")
    assert ensure(guest_of_nothing) != first


def test_a_build_that_fails_shows_why_and_leaves_nothing(
    guest_of_nothing: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    guest_of_nothing.locks[0].write_text(f"nothing==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(DistributionError, match=r"aiokafka@.* can't be built.*nothing"):
        ensure(guest_of_nothing)
    folders = list((guest_of_nothing.source.parents[2] / "cache" / "guests").glob("*"))
    assert folders == []


def test_a_compiler_in_java_home_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "bin" / "javac"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho javac 17.0.15\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    toolchains.version_of.cache_clear()
    try:
        assert javac_command() == str(compiler)
        assert toolchains.version_of(JAVAC) == "17.0.15"
    finally:
        toolchains.version_of.cache_clear()
