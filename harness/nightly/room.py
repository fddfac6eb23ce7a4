"""Room on the disk: the raw data of judged runs are removed, and what was found in them stays."""

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contract.files import is_below, read_file, replace_file
from contract.locks import alone_in
from contract.nights import NightRow, NightSummary, Outcome
from contract.run_folder import Removed, RunFolder

GIGABYTE = 10**9
FREE_BYTES_MIN = GIGABYTE
"""What a run and its judging may need beside it: with less free no run begins."""
SHARE_KEPT = 0.75
"""How much of a budget stays used once it is reached: then several runs begin before the next
time."""
_SHARE_OF_FREE = 0.5
_BLOCK_BYTES = 512
"""Of `st_blocks`, whatever the file system."""
_END_OF_HEADER = b"</header>"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def size_of(path: Path) -> int:
    """Return the bytes that a file or folder takes on its disk; links are not followed."""
    found = path.lstat().st_blocks * _BLOCK_BYTES
    if path.is_dir() and not path.is_symlink():
        with os.scandir(path) as inner:
            found += sum(size_of(Path(entry)) for entry in inner)
    return found


def remove_raw_data(run: RunFolder) -> int:
    """Remove the raw data and tables of a judged run; returns the bytes that this freed.

    Its plan, description, report and findings stay. The run says so, and its page. A link in the
    place of a folder is left, as all that it leads to. On a full disk the largest folder goes
    before this is noted.
    """
    folders = sorted((path for path in run.data() if not path.is_symlink()), key=size_of)
    if not folders:
        return 0
    with alone_in(run.path):
        freed = sum(map(size_of, folders))
        try:
            _note(run, freed)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            shutil.rmtree(folders.pop())
            _note(run, freed)
        for path in folders:
            shutil.rmtree(path)
    return freed


def _note(run: RunFolder, freed: int) -> None:
    run.write_removed(Removed(at_micros=time.time_ns() // 1000, bytes=freed))
    _note_on_page(run, freed)


def _note_on_page(run: RunFolder, freed: int) -> None:
    page = run.report / "index.html"
    day = time.strftime("%Y-%m-%d", time.gmtime())
    note = (
        f'<p class="left" id="removed">The raw data and tables of this run were removed on {day}, '
        f"{in_words(freed)}. What is on this page stays; the run can't be judged again.</p>"
    )
    content = read_file(page)
    if b'id="removed"' not in content:
        replace_file(page, content.replace(_END_OF_HEADER, note.encode() + _END_OF_HEADER, 1))


def judged_runs(night: Path, summary: NightSummary) -> Iterator[tuple[NightRow, RunFolder]]:
    """Yield the judged runs of a night that are below its folder, oldest first."""
    for row in summary.runs:
        if row.report is not None:
            run = RunFolder((night / row.report).parent.parent)
            if is_below(run.path, night) and (run.report / "index.html").is_file():
                yield row, run


@dataclass(frozen=True)
class Budget:
    """How much a night may take on its disk.

    Attributes:
        night: its folder.
        bytes_max: of the folder.
        judge: judges the runs that have ended, and returns the summary; None if that failed.
    """

    night: Path
    bytes_max: int
    judge: Callable[[], NightSummary | None]

    def make_room(self) -> str | None:
        """Remove raw data of expected runs if a budget is reached; returns what is lacking then."""
        if self._lack(1.0) is None:
            return None
        if (summary := self.judge()) is not None:
            for row, run in judged_runs(self.night, summary):
                if row.outcome is Outcome.EXPECTED:
                    remove_raw_data(run)
                    if self._lack(SHARE_KEPT) is None:
                        break
        return self._lack(1.0)

    def _lack(self, share: float) -> str | None:
        """Say what is lacking where only a share of the budget may be used."""
        used, free = size_of(self.night), shutil.disk_usage(self.night).free
        if used > self.bytes_max * share:
            return f"it takes {in_words(used)} of the {in_words(self.bytes_max)} of --disk"
        if free * share < FREE_BYTES_MIN:
            return f"{in_words(free)} are free on its disk, and a run may need 1 GB"
        return None


def default_budget(night: Path) -> int:
    """Return half of what the night takes and what is free beside it, in bytes."""
    return int((size_of(night) + shutil.disk_usage(night).free) * _SHARE_OF_FREE)


def in_words(count: int) -> str:
    """Return a size such as `1.5 GB` or `12 MB`."""
    return f"{count / GIGABYTE:.1f} GB" if count >= GIGABYTE else f"{count / 10**6:.0f} MB"
