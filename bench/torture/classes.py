"""The classes of attempts, in the order of their rows and of a pass."""

from collections.abc import Callable, Iterator

from bench.torture import calls, copies, disks, runs
from bench.torture.attempt import Area, Attempt, Setting

CLASSES: dict[Area, Callable[[Setting], Iterator[Attempt]]] = {
    calls.AREA: calls.attempts,
    **copies.CLASSES,
    disks.STORAGE: disks.storage,
    runs.EFFECTLESS: runs.effectless,
    runs.KILLS: runs.kills,
    runs.INTERRUPTS: runs.interrupts,
    disks.FULL_DISK: disks.full_disks,
    runs.PAIRS: runs.pairs,
}
