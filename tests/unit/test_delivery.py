"""The summary of a night is handed to a command and a webhook, and neither changes its verdict."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contract.errors import UsageError
from harness import invocation
from harness.nightly import delivery
from harness.nightly.delivery import post, require_command, require_url, run_on_end

SECRET = "hunter2"


@pytest.fixture
def night(tmp_path: Path) -> Path:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "summary.json").write_text('{"verdict": "pass"}')
    return tmp_path


@contextmanager
def server(
    status: int, *, delay: threading.Event | None = None
) -> Iterator[tuple[str, list[bytes]]]:
    """A server that responds with a status; its URL, and what it was sent."""
    received: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            if delay is not None:
                delay.wait(10)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/{SECRET}", received
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def test_a_webhook_gets_the_summary(night: Path) -> None:
    with server(204) as (url, received):
        assert post(url, night) is None
    assert [json.loads(one) for one in received] == [{"verdict": "pass"}]


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_webhook_that_does_not_accept_is_reported_without_its_secret(
    night: Path, status: int
) -> None:
    with server(status) as (url, received):
        problem = post(url, night)
    assert problem == f"the webhook at 127.0.0.1: it responded with {status}"
    assert len(received) == 1


def test_a_webhook_that_is_not_there_is_reported_without_its_secret(night: Path) -> None:
    with server(204) as (url, _):
        pass
    problem = post(url, night) or ""
    assert "Connection refused" in problem
    assert SECRET not in problem


def test_a_webhook_that_does_not_respond_does_not_hold_the_night(
    night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SECONDS_MAX", 0.2)
    never = threading.Event()
    with server(204, delay=never) as (url, _):
        problem = post(url, night) or ""
        never.set()
    assert problem.startswith("the webhook at 127.0.0.1: ")


@pytest.mark.parametrize(
    "url", ["", "ftp://h/x", "file:///etc/passwd", f"https:///{SECRET}", f"http://h/ {SECRET}", "h"]
)
def test_what_is_no_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(UsageError, match="--webhook") as refused:
        require_url(url)
    assert SECRET not in str(refused.value)


def test_the_recorded_command_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"https://h/{SECRET}"
    monkeypatch.setattr("sys.argv", ["fencepost", "nightly", "--webhook", url, "--seed", "1"])
    assert invocation.command_line() == "fencepost nightly --webhook ... --seed 1"
    monkeypatch.setattr("sys.argv", ["fencepost", "nightly", f"--webhook={url}"])
    assert invocation.command_line() == "fencepost nightly --webhook=..."


def test_a_command_reads_the_summary_and_knows_the_night(night: Path) -> None:
    require_command(command := f'cat >"{night}/got"; printf %s "$FENCEPOST_NIGHT" >"{night}/where"')
    assert run_on_end(command, night) is None
    assert json.loads((night / "got").read_text()) == {"verdict": "pass"}
    assert (night / "where").read_text() == str(night)


def test_a_command_need_not_read_the_summary(night: Path) -> None:
    (night / "report" / "summary.json").write_text("x" * (1 << 20))
    assert run_on_end("true", night) is None


def test_a_command_that_fails_is_reported(night: Path) -> None:
    assert run_on_end("exit 3", night) == "the command of --on-end ended with status 3"


def test_a_command_that_does_not_end_is_killed_with_what_it_started(
    night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SECONDS_MAX", 0.5)
    problem = run_on_end("sleep 60 & sleep 60", night) or ""
    assert "was killed" in problem


@pytest.mark.parametrize("command", ["", " ", "if", "echo 'x"])
def test_what_the_shell_can_not_read_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="--on-end takes a command of the shell"):
        require_command(command)
