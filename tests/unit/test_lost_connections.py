"""What serves Spark's JVM prints nothing when that is killed: the analysis says it in one line."""

import socket
from threading import Thread

import pytest
from pyspark.accumulators import AccumulatorTCPServer, UpdateRequestHandler

from analysis.engine.session import _print_no_lost_connection


def test_a_lost_connection_prints_no_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccumulatorTCPServer, "handle_error", AccumulatorTCPServer.handle_error)
    _print_no_lost_connection()
    server = AccumulatorTCPServer(("127.0.0.1", 0), UpdateRequestHandler, "token")
    with server:
        serving = Thread(target=server.handle_request)
        serving.start()
        with socket.create_connection(server.server_address) as jvm:
            jvm.sendall(b"to")
        serving.join(10)
        assert not serving.is_alive()
    assert capfd.readouterr().err == ""
