"""Dropped traffic of this network namespace: two nftables chains for each traffic.

The first chain counts packets and drops them. The second one, of a later priority, counts those
that pass the first: none, as long as it drops. This detects a rule that counts without dropping.

It needs no tool, only the kernel's nf_tables, and works for an ordinary user in a namespace of
their own. Rules are named after what they drop, so that each can be found, counted and removed
alone; `python -m cluster.nodes.firewall` removes them all.
"""

import socket
import struct
from typing import Any

from pyroute2.nftables.expressions import genex, ipv4addr, verdict
from pyroute2.nftables.main import NFTables

from cluster.nodes.traffic import Direction, Packets, Traffic
from contract.errors import FaultError

_TABLE = "fencepost"
_ACCEPT, _DROP = 1, 0
_FIRST, _LATER = 0, 10
"""Priorities: the kernel runs the chain with the lower one first."""

_EQUAL = 0
_REGISTER = 1
_NETWORK_HEADER, _TRANSPORT_HEADER = 1, 2
_PROTOCOL_AT, _DESTINATION_PORT_AT = 9, 2


def block(traffic: Traffic) -> None:
    """Drop these packets from now on; does nothing if they are dropped already.

    Raises:
        FaultError: the kernel refused the rule.
    """
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        if _rule(tables, traffic.name) is not None:
            return
        tables.table("add", name=_TABLE)
        _add(tables, traffic, traffic.name, _FIRST, verdict(code=_DROP))
        _add(tables, traffic, _behind(traffic), _LATER)
        if packets(traffic) is None:
            raise FaultError(f"the kernel refused a rule to drop {traffic.name}")


def unblock(traffic: Traffic) -> None:
    """Let these packets pass again; does nothing if they pass already."""
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        for chain in (_behind(traffic), traffic.name):
            rule = _rule(tables, chain)
            if rule is None:
                continue
            handle = rule.get_attr("NFTA_RULE_HANDLE")
            tables.rule("del", table=_TABLE, chain=chain, handle=handle)
            tables.chain("del", table=_TABLE, name=chain)


def unblock_all() -> None:
    """Remove all rules of `block` in this namespace."""
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        if any(table.get_attr("NFTA_TABLE_NAME") == _TABLE for table in tables.get_tables()):
            tables.table("del", name=_TABLE)


def packets(traffic: Traffic) -> Packets | None:
    """Return the counts of these packets since `block`; None where no rule drops them."""
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        first, behind = _rule(tables, traffic.name), _rule(tables, _behind(traffic))
    if first is None or behind is None:
        return None
    passed = _packets_of(behind)
    return Packets(dropped=max(_packets_of(first) - passed, 0), passed=passed)


def _behind(traffic: Traffic) -> str:
    """Return the name of the chain that counts packets that pass the first one."""
    return f"behind-{traffic.name}"


def _add(tables: Any, traffic: Traffic, chain: str, priority: int, *then: Any) -> None:
    """Add a chain with one rule, which counts such packets."""
    hook = "input" if traffic.direction is Direction.IN else "output"
    tables.chain(
        "add",
        table=_TABLE,
        name=chain,
        hook=hook,
        priority=priority,
        type="filter",
        policy=_ACCEPT,
    )
    tables.rule("add", table=_TABLE, chain=chain, expressions=(*_matches(traffic), *then))


def _packets_of(rule: Any) -> int:
    counters = [
        expression.get_attr("NFTA_EXPR_DATA").get_attr("NFTA_COUNTER_PACKETS")
        for expression in rule.get_attr("NFTA_RULE_EXPRESSIONS")
        if expression.get_attr("NFTA_EXPR_NAME") == "counter"
    ]
    return int(counters[0])


def _rule(tables: Any, chain: str) -> Any:
    place = (_TABLE, chain)
    for rule in tables.get_rules():
        if (rule.get_attr("NFTA_RULE_TABLE"), rule.get_attr("NFTA_RULE_CHAIN")) == place:
            return rule
    return None


def _matches(traffic: Traffic) -> tuple[Any, ...]:
    """Match the peer and the port, and count."""
    address = {"src" if traffic.direction is Direction.IN else "dst": traffic.peer}
    port: tuple[Any, ...] = ()
    if traffic.port is not None:
        port = (
            _is(_NETWORK_HEADER, _PROTOCOL_AT, struct.pack("B", socket.IPPROTO_TCP)),
            _is(_TRANSPORT_HEADER, _DESTINATION_PORT_AT, struct.pack(">H", traffic.port)),
        )
    return (ipv4addr(**address), *port, [genex("counter", {"bytes": 0, "packets": 0})])


def _is(header: int, offset: int, content: bytes) -> list[Any]:
    """Match packets whose header has these bytes at an offset."""
    load = {"dreg": _REGISTER, "base": header, "offset": offset, "len": len(content)}
    value = {"attrs": [("NFTA_DATA_VALUE", content)]}
    compare = {"sreg": _REGISTER, "op": _EQUAL, "data": value}
    return [genex("payload", load), genex("cmp", compare)]


if __name__ == "__main__":
    unblock_all()
