"""What killed runs left: `python -m harness.leftovers RESULTS` removes it (`make clean`)."""

import sys
from pathlib import Path

from cluster.nodes.docker_client import docker_problem
from cluster.nodes.docker_pool import remove_orphans
from harness.node_root import sweep


def main() -> None:
    """Remove folders of dead sessions, and containers whose harness is dead."""
    print(f"removed the folders of {sweep(Path(sys.argv[1]))} dead sessions")
    if docker_problem() is None:
        print(f"removed {remove_orphans()} containers of dead runs")


if __name__ == "__main__":
    main()
