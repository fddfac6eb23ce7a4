"""Another revision of the project, whose code makes and judges histories of its own."""

import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bench.processes import ROOT, run_measured
from contract.errors import UsageError
from contract.ranges import as_rows
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder
from simulator.history import CLEAN, Request

FENCEPOST = (sys.executable, "-c", "from harness.cli import main; main()")
"""The command line of any revision. Python imports the packages of the folder where it runs."""
_MODEL_EVENTS = 2_000
_PRESENT_NAMES = {"started_micros": "injected_micros", "current_epoch": "metadata_epoch"}
"""Of columns that were renamed."""


class Revision:
    """The files of a revision. This environment's interpreter runs them."""

    def __init__(self, name: str, folder: Path) -> None:
        """Write the files of a revision into a new folder.

        Raises:
            UsageError: git knows no such revision.
        """
        self.commit = _git("rev-parse", "--short", f"{name}^{{commit}}").decode().strip()
        self.folder = folder
        with tarfile.open(fileobj=BytesIO(_git("archive", self.commit))) as files:
            files.extractall(folder, filter="data")
        self._has_kinds = any("--kind" in line for line in self._output("--help"))

    def generate(self, request: Request, folder: Path, *, like: RunFolder) -> None:
        """Generate a history. A revision that knows clean ones only gets others converted.

        Args:
            request: what it is to be.
            folder: where to.
            like: the same history as the present revision generated it.
        """
        asked = [str(folder), "--seed", str(request.seed), "--events"]
        if self._has_kinds:
            self._output(*asked, str(request.events), "--kind", request.kind)
        elif request.kind == CLEAN:
            self._output(*asked, str(request.events))
        else:
            self._output(*asked, str(_MODEL_EVENTS))
            convert(like, RunFolder(folder))

    def _output(self, *arguments: str) -> list[str]:
        """Return the lines of its `fencepost generate`."""
        lines: list[str] = []
        run_measured(
            [*FENCEPOST, "generate", *arguments],
            on_line=lines.append,
            environment={**os.environ, "COLUMNS": "200"},
            folder=self.folder,
        )
        return lines


def convert(history: RunFolder, model: RunFolder) -> None:
    """Replace the rows of another revision's history by those of a present one.

    Args:
        history: of the present revision.
        model: of the other one. Its tables have the columns to convert to, those of single records
            if that revision knows no ranges. A column that only that revision has is null.
    """
    for file in sorted(model.tables.glob("*.parquet")):
        schema, present = pq.read_schema(file), history.tables / file.name
        content = pq.read_table(present) if present.exists() else schema.empty_table()
        if not set(schema.names) <= set(content.column_names):
            content = as_rows(file.stem, content)
        columns = []
        for field in schema:
            name = _PRESENT_NAMES.get(field.name, field.name)
            is_known = name in content.column_names
            column = content[name] if is_known else pa.nulls(content.num_rows)
            columns.append(column.cast(field.type))
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), file, compression="zstd")
    for name, keys in ((PLAN_FILE, ("topics", "groups")), (RUN_FILE, ("ended_micros",))):
        new = msgspec.json.decode((history.path / name).read_bytes())
        old = msgspec.json.decode((model.path / name).read_bytes())
        (model.path / name).write_bytes(msgspec.json.encode(old | {key: new[key] for key in keys}))


def _git(*arguments: str) -> bytes:
    ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if ended.returncode:
        raise UsageError(f"git {' '.join(arguments)}: {ended.stderr.decode().strip()}")
    return ended.stdout
