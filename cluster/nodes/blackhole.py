"""Blackhole routes in this namespace: `python -m cluster.nodes.blackhole add|remove ADDR`."""

import socket
import sys

from pyroute2 import IPRoute

_HOST_BITS = 32


def add(route: IPRoute, address: str) -> bool:
    """Drop everything that is sent to an address; returns whether the route is there."""
    route.route("replace", dst=f"{address}/{_HOST_BITS}", type="blackhole")
    return is_cut(route, address)


def remove(route: IPRoute, address: str) -> None:
    """Remove that one route; nothing happens where there is none."""
    if is_cut(route, address):
        route.route("del", dst=f"{address}/{_HOST_BITS}", type="blackhole")


def is_cut(route: IPRoute, address: str) -> bool:
    """Whether a route for this one address is there."""
    return any(
        entry.get_attr("RTA_DST") == address and entry["dst_len"] == _HOST_BITS
        for entry in route.get_routes(family=socket.AF_INET)
    )


def main() -> None:
    """Add or remove a route; exit 1 where it did not hold."""
    action, address = sys.argv[1:]
    with IPRoute() as route:
        if action == "remove":
            remove(route, address)
        elif not add(route, address):
            sys.exit(f"the route to {address} did not hold")


if __name__ == "__main__":
    main()
