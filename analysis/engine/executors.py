"""Why tasks wait: what an executor asks for, and what the workers of a standalone master have.

Spark lets a job wait for ever where no worker can have its executor, as where all workers are busy.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from analysis.engine import jvm
from contract.errors import AnalysisError
from contract.processes import is_local

_ASK_SECONDS = 5
"""An executor on a free worker starts within a few seconds."""
_TELL_SECONDS = 20
_LESS = "Give less: --conf spark.executor.memory=..., spark.executor.cores, spark.task.cpus"
_MOST_KINDS = 5


@dataclass(frozen=True)
class Size:
    """Cores and memory, of a worker or of an executor."""

    cores: int
    mebibytes: int

    def __str__(self) -> str:
        """In words."""
        return f"{self.cores} core{'s'[: self.cores != 1]} and {self.mebibytes:,} MiB"

    def holds(self, other: "Size") -> bool:
        """Whether the other fits into this."""
        return self.cores >= other.cores and self.mebibytes >= other.mebibytes


@dataclass(frozen=True)
class Standalone:
    """What a standalone master says.

    Attributes:
        executor: what each executor of this application needs.
        workers: what each has in all. One that ended counts until the master forgets it, which is
            a quarter of an hour later.
    """

    executor: Size
    workers: tuple[Size, ...]

    def problem(self) -> str | None:
        """Why no worker can ever have an executor; None if one can, though it may be busy."""
        if not self.workers:
            return "the master has no worker. Start one (fencepost docs clusters)"
        if any(size.holds(self.executor) for size in self.workers):
            return None
        return f"{self}. {_LESS}"

    def __str__(self) -> str:
        """What an executor needs, and what the workers have."""
        return (
            f"an executor needs {self.executor}, and the workers have {_list_sizes(self.workers)}"
        )


def _list_sizes(sizes: Iterable[Size]) -> str:
    """The kinds of sizes, the largest first."""
    kinds = sorted(Counter(sizes).items(), key=lambda kind: (-kind[0].mebibytes, -kind[0].cores))
    words = [f"{size}{f' ({number} workers)' if number > 1 else ''}" for size, number in kinds]
    more = [] if len(words) <= _MOST_KINDS else [f"{len(words) - _MOST_KINDS} kinds more"]
    return ", or ".join([*words[:_MOST_KINDS], *more])


class Watch:
    """Watches a job whose tasks may wait for executors."""

    def __init__(
        self,
        spark: SparkContext,
        on_wait: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Watch the jobs of a session."""
        self._spark, self._on_wait, self._clock = spark, on_wait, clock
        self._is_local = is_local(spark.master)
        self._since = self._asked = clock()
        self._is_told = False

    def look(self, running: int | None) -> None:
        """Look at what a job waits for.

        Args:
            running: its tasks that run; None if no stage of it has begun.

        Raises:
            AnalysisError: no worker can have an executor.
        """
        now = self._clock()
        if running != 0 or self._is_local:
            self._since = self._asked = now
            return
        if now - self._asked < _ASK_SECONDS:
            return
        self._asked = now
        master = self._spark.master
        found = standalone(self._spark)
        if found and (problem := found.problem()):
            raise AnalysisError(f"No executor can start on {master}: {problem}")
        if not self._is_told and now - self._since >= _TELL_SECONDS:
            self._is_told = True
            needed = f" ({found})" if found else ""
            self._on_wait(f"waiting for executors of {master}: it may be busy{needed}")


def standalone(spark: SparkContext) -> Standalone | None:
    """What the master of a session says; None if it is no standalone master, or does not answer."""
    for master in jvm.masters(spark.master or ""):
        # The last two: another version of Spark may have no such message.
        with suppress(Py4JError, OSError, AttributeError, TypeError):
            said = jvm.state_of_master(master)
            if said.status().toString() == "ALIVE":
                return _of(spark, said)
    return None


def _of(spark: SparkContext, said: Any) -> Standalone | None:
    own = next((app for app in said.activeApps() if app.id() == spark.applicationId), None)
    if own is None:
        return None
    cores = own.desc().coresPerExecutor()
    of_executor = int(str(cores.get())) if cores.isDefined() else 1
    of_task = int(spark.getConf().get("spark.task.cpus", "1"))
    executor = Size(max(of_executor, of_task), own.desc().memoryPerExecutorMB())
    return Standalone(
        executor, tuple(Size(worker.cores(), worker.memory()) for worker in said.workers())
    )
