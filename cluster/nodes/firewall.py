"""Dropped traffic of this network namespace: one nftables chain for each kind of traffic.

Needs no tool, only the kernel's nf_tables, and works for an ordinary user in a namespace of his
own. Rules are named after what they drop, so that each can be found, counted and removed alone;
`python -m cluster.nodes.firewall` removes them all.
"""

import socket
import struct
from typing import Any

from pyroute2.nftables.expressions import genex, ipv4addr, verdict
from pyroute2.nftables.main import NFTables

from cluster.nodes.traffic import Direction, Traffic
from harness.contract.errors import FaultError

_TABLE = "fencepost"
_ACCEPT, _DROP = 1, 0
_EQUAL = 0
_REGISTER = 1
_NETWORK_HEADER, _TRANSPORT_HEADER = 1, 2
_PROTOCOL_AT, _DESTINATION_PORT_AT = 9, 2


def block(traffic: Traffic) -> None:
    """Drop such packets from now on; nothing happens where they are dropped already.

    Raises:
        FaultError: the kernel did not take the rule.
    """
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        if _rule(tables, traffic) is not None:
            return
        hook = "input" if traffic.direction is Direction.IN else "output"
        tables.table("add", name=_TABLE)
        tables.chain(
            "add", table=_TABLE, name=traffic.name, hook=hook, type="filter", policy=_ACCEPT
        )
        tables.rule("add", table=_TABLE, chain=traffic.name, expressions=_expressions(traffic))
        if _rule(tables, traffic) is None:
            raise FaultError(f"the kernel took no rule to drop {traffic.name}")


def unblock(traffic: Traffic) -> None:
    """Let such packets pass again; nothing happens where they do."""
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        rule = _rule(tables, traffic)
        if rule is None:
            return
        handle = rule.get_attr("NFTA_RULE_HANDLE")
        tables.rule("del", table=_TABLE, chain=traffic.name, handle=handle)
        tables.chain("del", table=_TABLE, name=traffic.name)


def unblock_all() -> None:
    """Let everything pass again that was ever blocked here."""
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        if any(table.get_attr("NFTA_TABLE_NAME") == _TABLE for table in tables.get_tables()):
            tables.table("del", name=_TABLE)


def dropped_packets(traffic: Traffic) -> int:
    """How many such packets were dropped since `block`; 0 where they pass."""
    with NFTables(nfgen_family=socket.AF_INET) as tables:
        rule = _rule(tables, traffic)
    if rule is None:
        return 0
    counters = [
        expression.get_attr("NFTA_EXPR_DATA").get_attr("NFTA_COUNTER_PACKETS")
        for expression in rule.get_attr("NFTA_RULE_EXPRESSIONS")
        if expression.get_attr("NFTA_EXPR_NAME") == "counter"
    ]
    return int(counters[0])


def _rule(tables: Any, traffic: Traffic) -> Any:
    place = (_TABLE, traffic.name)
    for rule in tables.get_rules():
        if (rule.get_attr("NFTA_RULE_TABLE"), rule.get_attr("NFTA_RULE_CHAIN")) == place:
            return rule
    return None


def _expressions(traffic: Traffic) -> tuple[Any, ...]:
    """Match the peer and the port, count, drop."""
    address = {"src" if traffic.direction is Direction.IN else "dst": traffic.peer}
    port: tuple[Any, ...] = ()
    if traffic.port is not None:
        port = (
            _is(_NETWORK_HEADER, _PROTOCOL_AT, struct.pack("B", socket.IPPROTO_TCP)),
            _is(_TRANSPORT_HEADER, _DESTINATION_PORT_AT, struct.pack(">H", traffic.port)),
        )
    counter = [genex("counter", {"bytes": 0, "packets": 0})]
    return (ipv4addr(**address), *port, counter, verdict(code=_DROP))


def _is(header: int, offset: int, content: bytes) -> list[Any]:
    """Go on only where a header's bytes at an offset are these."""
    load = {"dreg": _REGISTER, "base": header, "offset": offset, "len": len(content)}
    value = {"attrs": [("NFTA_DATA_VALUE", content)]}
    compare = {"sreg": _REGISTER, "op": _EQUAL, "data": value}
    return [genex("payload", load), genex("cmp", compare)]


if __name__ == "__main__":
    unblock_all()
