"""`fencepost compare`: what is refused, and how builds are named."""

from pathlib import Path

import pytest

from extras.compare import command
from extras.compare.builds import parse_build
from harness.commands.options import choice_of
from tests.conftest import Fencepost

COMPARED = ("--scenario", "baseline", "--runs", "4")


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("compare", "4.4.0", "kafka=4.4.0", *COMPARED), 64, "A build is kafka=VERSION"),
        (("compare", "kafka=4.4.0", "kafka=../x", *COMPARED), 64, "kafka=VERSION takes a version"),
        (("compare", "kafka=4.4.0", "client-jars=docs", *COMPARED), 64, "neither jars nor"),
        (("compare", "kafka=4.4.0", "kafka=4.4.0", *COMPARED, "--parameters", "{"), 64, "not JSON"),
        (("compare", "kafka=4.4.0", "kafka=4.4.0"), 64, "Missing option '--scenario'"),
        (("compare", "kafka=4.4.0"), 64, "Missing argument 'B'"),
        (("patch", "build", "nonsense", "4.3.1"), 64, "there is no patch nonsense"),
        (("compare", "kafka=4.4.0", "kafka=4.4.0", *COMPARED, "--runs", "0"), 64, "'--runs'"),
        (("compare", "kafka=4.4.0", "kafka=4.4.0", *COMPARED, "--runs", "3"), 64, "needs 4 runs"),
        (("compare", "kafka=4.4.0", "kafka=4.4.0", "--scenario", "x", "--runs", "4"), 64, "no sc"),
        (("compare", "kafka-dir=", "kafka=4.4.0", *COMPARED), 64, "names no build"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...], code: int, hint: str, fencepost: Fencepost
) -> None:
    ended = fencepost(*arguments)
    assert ended.returncode == code, ended.stderr
    assert hint in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_builds_are_named_as_the_options_of_run_name_them() -> None:
    named = "librdkafka@2.16.0,kafka-python@3.0.8"
    choice = choice_of("4.4.0", None, None, None, named)
    several = "clients=librdkafka@2.16.0,clients=kafka-python@3.0.8"
    assert parse_build(several, default_kafka="4.4.0") == choice
    compared = parse_build("set=group.g.max.poll.records=5,set=heap=1g", default_kafka="4.4.0")
    assert compared.changes == ["group.g.max.poll.records=5", "heap=1g"]


def test_the_folder_follows_the_end_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[list[str]] = []

    def run(words: list[str], **_: str) -> int:
        children.append(words)
        return 0

    monkeypatch.setattr(command, "run_child", run)
    command._compare(Path("-name"), is_verbose=True, as_json=True)  # noqa: SLF001 - needs two builds
    assert children[0][-2:] == ["--", "-name"]
