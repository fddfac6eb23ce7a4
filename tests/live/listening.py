"""The sockets of a run that listen in this machine's own network namespace."""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from command import fencepost

from cluster.nodes.pool import PoolKind

CLIENT_PORT = 9092


@dataclass
class Listening:
    """A run that has ended, and what listened while it went on: an address, a port, the process.

    is_known: a broker's port was seen, so that the look was not in vain.
    """

    code: int = 0
    said: str = ""
    elsewhere: set[tuple[str, int, str]] = field(default_factory=set)
    is_known: bool = False


def run_and_look(pool: PoolKind, results: Path, *names: str, seed: int = 1) -> Listening:
    """Run scenarios, and look at each line that is printed."""
    seen = Listening()
    options = ("--cluster", pool.value, "--seed", str(seed), "--results", str(results))
    run = fencepost("run", *names, *options)
    assert run.stdout is not None
    for line in run.stdout:
        seen.said += line
        look(psutil.Process(run.pid), seen)
    seen.code = run.wait()
    return seen


def look(root: psutil.Process, seen: Listening) -> None:
    """Add what a process and those that it started listen on."""
    try:
        tree = {child.pid: child.name() for child in (root, *root.children(recursive=True))}
    except psutil.NoSuchProcess:
        return
    for connection in psutil.net_connections(kind="inet"):
        if connection.status == psutil.CONN_LISTEN and connection.pid in tree:
            seen.is_known = seen.is_known or connection.laddr.port == CLIENT_PORT
            if not ipaddress.ip_address(connection.laddr.ip.removeprefix("::ffff:")).is_loopback:
                seen.elsewhere.add(
                    (connection.laddr.ip, connection.laddr.port, tree[connection.pid])
                )
