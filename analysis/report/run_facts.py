"""What pages ask of a run: its tables and the facts of its judge, by statements."""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from tempfile import gettempdir

from analysis.runs.load import load_on_duckdb, memory_here
from analysis.statements.files import Fact, facts
from analysis.statements.trace import Row, Trace
from contract.errors import TableError
from contract.locks import TEMPORARY, HeldFolder
from contract.run_folder import RunFolder
from contract.table_columns import Column
from contract.tables import MICROS_PER_SECOND, TABLES


class RunFacts:
    """Asks for facts of a run. One whose tables are missing or unusable has no rows.

    Attributes:
        folder: the run's.
        trace: that its facts are derived in, by the same statements as when it was judged.
    """

    def __init__(self, folder: RunFolder, trace: Trace | None = None) -> None:
        """Ask a trace; without one, the tables in the folder are read when they are asked for."""
        self.folder = folder
        self._given = trace
        self._named = 0

    @cached_property
    def trace(self) -> Trace:
        """See the class."""
        if self._given is not None:
            return self._given
        self._spill = HeldFolder(Path(gettempdir()), f"{TEMPORARY}facts-")
        return load_on_duckdb(
            self.folder, self._spill.path, threads=os.cpu_count() or 1, memory=memory_here() // 2
        )

    def rows(self, text: str) -> list[Row]:
        """The rows of a statement."""
        try:
            return self.trace.ask(text, optional=(*TABLES, *facts()))
        except TableError:
            return []

    def named(self, columns: Iterable[Column], rows: Iterable[Row]) -> str:
        """A name by which statements read rows that are no fact."""
        self._named += 1
        name, content = f"rows_{self._named}", list(rows)
        self.trace.with_rows(Fact("", name, "", declared=tuple(columns), compute=lambda _: content))
        return name

    @cached_property
    def _injected(self) -> int | None:
        for row in self.rows("select min(injected_micros) as at_micros from faults"):
            return None if row["at_micros"] is None else int(row["at_micros"])
        return None

    @cached_property
    def zero_micros(self) -> int:
        """When the first fault was injected; when the run began if there is none."""
        if self._injected is None:
            return self.folder.run().started_micros
        return self._injected

    @property
    def origin(self) -> str:
        """The name of that moment."""
        if self._injected is None:
            return "the start of the run"
        return "the injection of the first fault"

    def seconds(self, micros: float) -> float:
        """A time, counted from that moment."""
        return (float(micros) - self.zero_micros) / MICROS_PER_SECOND
