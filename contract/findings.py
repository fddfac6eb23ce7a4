"""`report/findings.parquet`: every finding of a run, one row each."""

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import RunFolderError
from contract.regular_files import open_regular
from contract.run_folder import RunFolder
from contract.verdicts import Finding, FindingVerdict

FINDINGS_FILE = "findings.parquet"
FINDINGS = pa.schema(
    [
        ("check", pa.string()),
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("verdict", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset_first", pa.int64()),
        ("offset_last", pa.int64()),
        ("group", pa.string()),
        ("client", pa.string()),
        ("at", pa.int64()),
        ("cause", pa.string()),
        ("evidence", pa.string()),
    ]
)
"""The columns of `Finding`, and its number among those of its check, from 1; `evidence` is JSON."""


def read_finding(folder: RunFolder, check: str, number: int) -> Finding | None:
    """The Nth finding of a check; None if the file does not have it.

    Raises:
        RunFolderError: the file is damaged.
    """
    file = folder.report / FINDINGS_FILE
    if not file.is_file():
        return None
    try:
        with open_regular(file) as content:
            wanted = [("check", "=", check), ("number", "=", number)]
            chosen = pq.read_table(content, filters=wanted)
        rows = chosen.cast(FINDINGS).to_pylist()
        return _finding(rows[0]) if rows else None
    except (pa.ArrowException, OSError, ValueError, msgspec.DecodeError) as error:
        raise RunFolderError(f"{file} is not a valid file of findings: {error}") from error


def _finding(row: dict[str, object]) -> Finding:
    values = {name: value for name, value in row.items() if name != "number"}
    return msgspec.convert(
        {
            **values,
            "verdict": FindingVerdict(str(row["verdict"])),
            "evidence": msgspec.json.decode(str(row["evidence"])),
        },
        Finding,
    )
