"""Run in a sandbox by test_embedded: do nodes reach each other before, in and after a cut?"""

import sys
from pathlib import Path

from cluster.nodes.netns import EmbeddedPool
from cluster.nodes.node import Node
from harness.contract.waiting import wait_until

SERVE = (
    "import socket; s = socket.create_server(('', 7000)); print('up', flush=True)\n"
    "while s.accept(): pass"
)
CALL = "import socket, sys; socket.create_connection((sys.argv[1], 7000), 1)"


def reaches(caller: Node, server: Node) -> bool:
    call = [caller.python, "-c", CALL, server.address]
    return caller.run(call, timeout_seconds=10, check=False).status == 0


def routes(node: Node) -> str:
    return node.run(["ip", "route"], timeout_seconds=10).output


def main() -> None:
    server, caller, third = EmbeddedPool(size=3, root=Path(sys.argv[1])).nodes
    log = server.folder / "log"
    server.spawn([server.python, "-c", SERVE], log=log)
    wait_until(lambda: server.read(log), what="the server", timeout_seconds=10)
    untouched = routes(caller)
    seen = [reaches(caller, server)]
    caller.cut_peer(server)
    caller.cut_peer(third)
    seen.append(reaches(caller, server))
    seen.append(reaches(third, server))
    caller.heal_peer(server)
    seen.append(reaches(caller, server))
    assert third.address in routes(caller), "healing one cut must leave the other"
    caller.heal_peer(third)
    caller.heal_peer(third)
    assert routes(caller) == untouched, "healing must leave the routes as they were"
    print("seen", seen, flush=True)


main()
