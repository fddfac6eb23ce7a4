"""The folder of a session's nodes, and the removal of those of dead sessions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contract.errors import InterruptError, StorageError
from contract.locks import HeldFolder, Swept, end_programs_of_unheld, remove_unheld
from contract.run_folder import NODES_FOLDER

_PREFIX = "session-"


@contextmanager
def node_root(results: Path) -> Iterator[Path]:
    """A folder for one session's nodes below `results`, removed at the end.

    A killed session leaves its folder. The next session removes it, since its lock is free.

    Raises:
        StorageError: something failed, and the folder is no longer there.
    """
    parent = results / NODES_FOLDER
    parent.mkdir(parents=True, exist_ok=True)
    sweep(results)
    held = HeldFolder(parent, _PREFIX)
    try:
        yield held.path
    except InterruptError:
        raise
    except Exception as error:
        if held.path.is_dir():
            raise
        raise StorageError(
            f"{results} was removed or moved while a run wrote into it, so nothing of the run is "
            "there: leave it until the run has ended, and start the command again"
        ) from error
    finally:
        held.remove()


def end_left(results: Path) -> None:
    """Kill what killed sessions left running: a program that is stopped does not see their end."""
    end_programs_of_unheld(results / NODES_FOLDER, _PREFIX)


def sweep(results: Path) -> Swept:
    """Remove the folders of killed sessions."""
    return remove_unheld(results / NODES_FOLDER, _PREFIX)
