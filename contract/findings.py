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
    found = _read(folder, [("check", "=", check), ("number", "=", number)])
    return found[0] if found else None


def read_violations(folder: RunFolder) -> list[Finding]:
    """All violations of a run, expected ones among them; none if there is no file.

    Raises:
        RunFolderError: the file is damaged.
    """
    return _read(folder, [("verdict", "=", FindingVerdict.VIOLATION.value)])


def _read(folder: RunFolder, wanted: list[tuple[str, str, object]]) -> list[Finding]:
    file = folder.report / FINDINGS_FILE
    if not file.is_file():
        return []
    try:
        with open_regular(file) as content:
            chosen = pq.read_table(content, filters=wanted)
        return [_finding(row) for row in chosen.cast(FINDINGS).to_pylist()]
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
