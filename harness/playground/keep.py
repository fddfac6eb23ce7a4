"""Runs a playground, detached: `python -m harness.playground.keep CLUSTER KAFKA RESULTS`."""

import os
import shlex
import signal
import sys
from pathlib import Path
from tempfile import gettempdir

from contract.locks import HeldName, temporary_folder
from contract.run_folder import new_seed
from harness.invocation import Session, git_head, versions
from harness.playground.shape import shape_asked
from harness.playground.state import FOLDER, KEEPER, SOCKET_FOLDER, forget
from harness.session.catalog import read_scenario
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

_SOCKET_PARENT_MAX = 41
"""Bytes: the path of a socket has at most 107."""
_SCENARIO = read_scenario(Path(__file__).with_name("playground_test.py"))


def main() -> None:
    """Run until the playground is stopped; then remove its state file."""
    cluster, kafka, folder = sys.argv[1:]
    results = Path(folder)
    of_pool = [f"--cluster={cluster}", f"--kafka={kafka}"]
    session = Session(
        seed=new_seed(),
        kafka=kafka,
        cluster=cluster,
        command=shlex.join(["fencepost", "play", "start", *of_pool, *shape_asked().words()]),
        git_head=git_head(),
        versions=versions(),
        results=folder,
        is_endless=True,
    )
    (results / FOLDER).mkdir(parents=True, exist_ok=True)
    try:
        held = HeldName(results / KEEPER)
    except BlockingIOError:
        sys.exit(f"a playground runs below {results} already")
    signal.signal(signal.SIGTERM, _end)
    forget(results)
    try:
        with (
            node_root(results) as root,
            temporary_folder("play", parent=_parent_of_socket()) as folder_of_socket,
        ):
            os.environ[SOCKET_FOLDER] = str(folder_of_socket)
            run_ducktape(
                [_SCENARIO],
                session,
                results=results / FOLDER,
                root=root,
                on_phase=print,
                writable=[folder_of_socket],
            )
    finally:
        forget(results)
        held.release()


def _parent_of_socket() -> Path | None:
    """None for the usual folder of temporary files, unless its path is too long."""
    is_long = len(os.fsencode(gettempdir())) > _SOCKET_PARENT_MAX
    return Path("/tmp") if is_long else None  # noqa: S108 - the folder in it is private


def _end(_signal: int, _frame: object) -> None:
    sys.exit("requested to end")


if __name__ == "__main__":
    main()
