"""Folders of the cache that are made once, as a whole, by one process at a time."""

import shutil
from collections.abc import Callable
from pathlib import Path

from contract.errors import DistributionError
from contract.files import CACHE_VARIABLE
from contract.locks import HeldFolder, alone_in, remove_unheld

_MAKING = ".making-"


def made_once(folder: Path, *, is_whole: Callable[[], bool], make: Callable[[Path], None]) -> Path:
    """Return a folder, made if it is not there whole.

    It is made beside, and renamed when all is there: what is killed leaves no half.

    Args:
        folder: where it is in the end; it is replaced if it is not whole.
        is_whole: whether it is there, unchanged.
        make: makes it at the path that it gets, which does not exist.

    Raises:
        DistributionError: the cache can't be written; or what `make` raises.
    """
    if is_whole():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(folder.parent):
            if not is_whole():
                _make(folder, make)
    except OSError as error:
        raise DistributionError(
            f"{folder} can't be written ({error.strerror}): name another cache in {CACHE_VARIABLE}"
        ) from error
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    remove_unheld(folder.parent, _MAKING)
    beside = HeldFolder(folder.parent, _MAKING)
    made = beside.path / "made"
    try:
        make(made)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    finally:
        beside.remove()
