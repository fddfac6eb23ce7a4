"""`report/findings.parquet`: every finding of a run, where the verdict has the first of each check.

The findings of a check are numbered from 1 in the order of the verdict's examples, so that
`CHECK:N` is the same finding on the page, in the file and in `fencepost explain`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contract.files import replacing
from contract.verdicts import BY_SEVERITY, FINDINGS, Finding

_SEVERITY_COLUMN = "_severity"
ORDER = (
    "group",
    "topic",
    "partition",
    "offset_first",
    "offset_last",
    "at",
    "kind",
    "cause",
    "evidence",
)
"""The order of the findings of one check and verdict; violations come first."""

Keep = Callable[[str, pa.Table, Mapping[str, str]], None]
"""Keeps the findings of a check: its name, its findings in order, the client of each group."""


def in_order(findings: pa.Table) -> pa.Table:
    """The findings of a check in their order: by verdict, then by `ORDER`, nulls first."""
    if not findings.num_rows:
        # The columns of an engine's empty result may have no types.
        return findings
    known = pa.array([str(verdict) for verdict in BY_SEVERITY])
    severity = pc.index_in(findings["verdict"], value_set=known)
    sorting = findings.append_column(_SEVERITY_COLUMN, severity)
    keys = [(name, "ascending", "at_start") for name in (_SEVERITY_COLUMN, *ORDER)]
    return findings.take(pc.sort_indices(sorting, sort_keys=keys))


class FindingsFile:
    """The file, written check by check; several threads may do so."""

    def __init__(self, file: Path) -> None:
        """Begin a new file."""
        self._replacing = replacing(file)
        # Opened here, as its name may be no text in UTF-8.
        self._writer = pq.ParquetWriter(self._replacing.__enter__(), FINDINGS)
        self._writing = Lock()

    def __enter__(self) -> Self:
        """Write until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the file; after an exception, it is not made, as it lacks findings."""
        try:
            self._writer.close()
        finally:
            self._replacing.__exit__(kind, error, trace)

    def keep(self, check: str, findings: pa.Table, clients: Mapping[str, str]) -> None:
        """Write the findings of a check, which are in order."""
        if not findings.num_rows:
            return
        groups = findings["group"].to_pylist()
        added = {
            "check": pa.repeat(check, findings.num_rows),
            "number": pa.array(range(1, findings.num_rows + 1), pa.int64()),
            "client": pa.array([clients.get(group or "") for group in groups], pa.string()),
        }
        columns = {
            name: added[name] if name in added else findings[name].cast(FINDINGS.field(name).type)
            for name in FINDINGS.names
        }
        with self._writing:
            self._writer.write_table(pa.table(columns, schema=FINDINGS))


def as_table(findings: list[Finding]) -> pa.Table:
    """Findings that Python has, as a table for `Keep`."""
    names = [name for name in FINDINGS.names if name not in ("check", "number", "client")]
    rows = [
        msgspec.structs.asdict(finding)
        | {
            "verdict": str(finding.verdict),
            "evidence": msgspec.json.encode(finding.evidence).decode(),
        }
        for finding in findings
    ]
    schema = pa.schema([FINDINGS.field(name) for name in names])
    return pa.Table.from_pylist([{name: row[name] for name in names} for row in rows], schema)
