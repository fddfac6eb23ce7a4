"""Runs a playground, detached: `python -m harness.playground.keep CLUSTER KAFKA RESULTS`."""

import os
import signal
import sys
from pathlib import Path

from contract.randomness import new_seed
from harness.invocation import Session
from harness.playground.state import FILE, FOLDER, KEEPER
from harness.session.catalog import read_scenario
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root
from harness.session.provenance import git_head, versions

_SCENARIO = read_scenario(Path(__file__).with_name("playground_test.py"))


def main() -> None:
    """Run until the playground is stopped; then remove its state file."""
    cluster, kafka, folder = sys.argv[1:]
    results = Path(folder)
    session = Session(
        seed=new_seed(),
        kafka=kafka,
        cluster=cluster,
        command="fencepost playground",
        git_head=git_head(),
        versions=versions(),
        results=folder,
    )
    (results / KEEPER).write_text(str(os.getpid()))
    signal.signal(signal.SIGTERM, _end)
    try:
        with node_root(results) as root:
            run_ducktape([_SCENARIO], session, results=results / FOLDER, root=root, on_phase=print)
    finally:
        (results / FILE).unlink(missing_ok=True)
        (results / KEEPER).unlink(missing_ok=True)


def _end(_signal: int, _frame: object) -> None:
    sys.exit("requested to end")


if __name__ == "__main__":
    main()
