"""The proxy passes on every message unchanged, but for the one that it looks for."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from contract.waiting import wait_until
from harness.wire.proxy import Proxy, Watch
from harness.wire.request import Broker, read_frame, send_frame

OFFSET_FETCH, HEARTBEAT = 9, 12
HOST = "127.0.0.1"
SECONDS = 10


def request(key: int, correlation_id: int, client: str = "g#1") -> bytes:
    name = client.encode()
    return struct.pack(">hhih", key, 7, correlation_id, len(name)) + name + b"rest"


def response(asked: bytes) -> bytes:
    """What the broker of these tests responds: the correlation id, and what it was asked."""
    return asked[4:8] + asked


@pytest.fixture
def proxy() -> Proxy:
    return Proxy()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    """A connection through the proxy, to a broker that responds at once."""
    with socket.create_server((HOST, 0)) as broker, socket.create_server((HOST, 0)) as free:
        at = Broker(HOST, free.getsockname()[1])
        free.close()
        proxy.listen(1, to=Broker(HOST, broker.getsockname()[1]), at=at)

        def serve() -> None:
            accepted, _ = broker.accept()
            with accepted:
                try:
                    while True:
                        asked = read_frame(accepted)
                        send_frame(accepted, response(asked))
                except OSError:
                    return

        serving = threading.Thread(target=serve)
        serving.start()
        with socket.create_connection((at.address, at.port), SECONDS) as connection:
            yield connection
        serving.join()


def looked_for(proxy: Proxy, key: int = OFFSET_FETCH, prefix: str = "g#") -> Watch:
    watch = Watch(key=key, client_prefix=prefix)
    proxy.look_for(watch)
    return watch


def await_response_at_proxy(watch: Watch) -> None:
    wait_until(
        lambda: watch.message is not None and watch.message.responded_micros,
        what="the broker's response",
        timeout_seconds=SECONDS,
    )


def test_messages_pass_unchanged(proxy: Proxy, client: socket.socket) -> None:
    watch = looked_for(proxy, key=HEARTBEAT)
    other = looked_for(proxy, prefix="other#")
    for number in range(3):
        asked = request(OFFSET_FETCH, number)
        send_frame(client, asked)
        assert read_frame(client) == response(asked)
    assert watch.message is None
    assert other.message is None


def test_the_next_response_waits_for_its_release(proxy: Proxy, client: socket.socket) -> None:
    watch = looked_for(proxy)
    held, later = request(OFFSET_FETCH, 7), request(HEARTBEAT, 8)
    send_frame(client, held)
    send_frame(client, later)
    await_response_at_proxy(watch)
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        read_frame(client)
    client.settimeout(SECONDS)
    assert watch.message is not None
    assert (watch.message.correlation_id, watch.message.client) == (7, "g#1")
    assert (watch.message.broker, watch.message.version) == (1, 7)
    assert watch.message.passed_micros is None

    watch.release()
    assert [read_frame(client), read_frame(client)] == [response(held), response(later)]
    wait_until(
        lambda: watch.message is not None and watch.message.passed_micros,
        what="the time",
        timeout_seconds=SECONDS,
    )
    assert not watch.message.is_closed


def test_only_one_response_is_held(proxy: Proxy, client: socket.socket) -> None:
    watch = looked_for(proxy)
    watch.release()
    for number in (1, 2):
        send_frame(client, request(OFFSET_FETCH, number))
        assert read_frame(client) == response(request(OFFSET_FETCH, number))
    assert watch.message is not None
    assert watch.message.correlation_id == 1


def test_a_search_that_was_given_up_finds_nothing(proxy: Proxy, client: socket.socket) -> None:
    watch = looked_for(proxy)
    proxy.give_up(watch)
    asked = request(OFFSET_FETCH, 1)
    send_frame(client, asked)
    assert read_frame(client) == response(asked)
    assert watch.message is None


def test_a_client_that_gives_up_its_connection_is_noticed(
    proxy: Proxy, client: socket.socket
) -> None:
    watch = looked_for(proxy)
    send_frame(client, request(OFFSET_FETCH, 1))
    await_response_at_proxy(watch)
    client.shutdown(socket.SHUT_RDWR)
    wait_until(
        lambda: watch.message is not None and watch.message.is_closed,
        what="the end of the connection",
        timeout_seconds=SECONDS,
    )
    assert watch.message is not None
    assert watch.message.passed_micros is None
