"""Does each cut of a pool's nodes bite, and its heal undo just that? Run in a sandbox too."""

import sys
from pathlib import Path

from cluster.nodes.local import EmbeddedPool
from cluster.nodes.node import Node
from cluster.nodes.traffic import Direction, Traffic
from contract.waiting import wait_until

PORT = 7000
SERVE = (
    f"import socket; s = socket.create_server(('', {PORT})); print('up', flush=True)\n"
    "while True: s.accept()[0].sendall(b'!')"
)
CALL = (
    f"import socket, sys; s = socket.create_connection((sys.argv[1], {PORT}), 0.5); "
    "s.settimeout(0.5); assert s.recv(1)"
)


def reaches(caller: Node, server: Node) -> bool:
    call = [caller.python, "-c", CALL, server.address]
    return caller.run(call, timeout_seconds=10, check=False).status == 0


def await_reach(caller: Node, server: Node) -> None:
    what = f"{caller.name} to reach {server.name}"
    wait_until(lambda: reaches(caller, server), what=what, timeout_seconds=10)


def out_to(peer: Node, port: int | None = None) -> Traffic:
    return Traffic(peer=peer.address, direction=Direction.OUT, port=port)


def in_from(peer: Node, port: int | None = None) -> Traffic:
    return Traffic(peer=peer.address, direction=Direction.IN, port=port)


def check(nodes: list[Node]) -> None:
    server, caller, third = nodes
    log = server.folder / "log"
    server.spawn([server.python, "-c", SERVE], log=log)
    wait_until(lambda: server.read(log), what="the server", timeout_seconds=10)
    for node, cut in (
        (caller, out_to(server)),
        (caller, out_to(server, PORT)),
        (server, in_from(caller, PORT)),
        (server, out_to(caller)),
    ):
        other = out_to(third) if node is caller else in_from(third, 1)
        await_reach(caller, server)
        node.block(cut)
        node.block(cut)
        node.block(other)
        assert not reaches(caller, server), cut
        await_reach(third, server)
        counted = node.packets(cut)
        assert counted is not None
        assert counted.dropped > 0
        assert counted.passed == 0
        node.unblock(cut)
        await_reach(caller, server)
        assert node.packets(cut) is None
        node.block(cut)
        node.unblock(other)
        assert not reaches(caller, server), "healing one cut must leave the other"
        node.unblock(cut)
        node.unblock(cut)
    caller.block(out_to(server, PORT + 1))
    await_reach(caller, server)
    caller.unblock(out_to(server, PORT + 1))
    assert not server.is_suspended()
    server.pause()
    assert not reaches(caller, server)
    assert server.is_suspended()
    server.resume()
    assert not server.is_suspended()
    await_reach(caller, server)
    server.kill()
    assert not reaches(caller, server)
    print("all cuts bit", flush=True)


if __name__ == "__main__":
    check(EmbeddedPool(size=3, root=Path(sys.argv[1])).nodes)
