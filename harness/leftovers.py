"""Removes what killed runs left: `python -m harness.leftovers RESULTS`."""

import sys
from contextlib import suppress
from pathlib import Path

import psutil

from cluster.nodes.docker_client import docker_problem
from cluster.nodes.docker_pool import remove_orphans
from harness.playground.state import forget, keeper
from harness.session.node_root import sweep

_END_SECONDS = 60


def main() -> None:
    """End a playground, and remove folders of dead sessions and containers of dead runs."""
    end_playground(Path(sys.argv[1]))
    print(f"removed the folders of {sweep(Path(sys.argv[1]))} dead sessions")
    if docker_problem() is None:
        print(f"removed {remove_orphans()} containers of dead runs")


def end_playground(results: Path) -> None:
    """End the playground that runs below a results folder, and see it end; or do nothing.

    What a killed one left is removed, whatever it has become.
    """
    with suppress(psutil.NoSuchProcess):
        if (process := keeper(results)) is not None:
            process.terminate()
            process.wait(_END_SECONDS)
            print("ended the playground")
    forget(results)


if __name__ == "__main__":
    main()
