"""Files of what judging one large trace computed, kept beside it as long as it is judged.

Files rather than Spark's memory: millions of rows in the heap cost its collector more than reading
them again, and a reader loads only the columns that it needs.
"""

import threading
from itertools import count
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from analysis.engine.hadoop import HadoopFolder
from contract.errors import UsageError
from contract.locks import HeldFolder, remove_unheld
from contract.regular_files import printable

LITERAL = {"__globPaths__": "false"}
"""An option of Spark's readers: a path is that path, though `*` or `[1]` is in it."""
_PREFIX = ".judging-"


class Scratch:
    """A folder that is made when there is something to keep, and removed with this object.

    What a process left that was killed is removed by the next that judges the same run.
    """

    def __init__(self, beside: Path) -> None:
        """Keep files in a folder of their own.

        Args:
            beside: the run's folder; who shares the judging over several machines shares it too.
        """
        self._beside = beside
        self._held: HeldFolder | None = None
        self._names = count()
        self._is_making = threading.Lock()

    def kept(self, frame: DataFrame) -> "Kept":
        """Compute the rows of a frame into files."""
        path = self._folder() / str(next(self._names))
        frame.write.parquet(in_full(path))
        return Kept(path, frame.schema)

    def _folder(self) -> Path:
        with self._is_making:
            if self._held is None:
                remove_unheld(self._beside, _PREFIX)
                # Of the mode that the umask says: executors may be another user's of its group.
                self._held = HeldFolder(self._beside, _PREFIX)
            return self._held.path


class Kept:
    """The rows of one frame, in local files."""

    def __init__(self, path: Path, schema: StructType) -> None:
        """Refer to the files of a frame and count their rows."""
        self.uri, self.schema = in_full(path), schema
        self._files = sorted(path.glob("*.parquet"))
        self.rows = sum(pq.read_metadata(file).num_rows for file in self._files)

    def as_table(self) -> pa.Table:
        """The rows, all in the driver."""
        return pa.concat_tables(pq.read_table(file) for file in self._files)


class RemoteScratch:
    """A folder at the URI of a run, removed by `RemoteScratch.remove`, at the latest with the JVM.

    No other file system has locks like a local one: what a JVM left that was killed stays.
    """

    def __init__(self, beside: HadoopFolder) -> None:
        """Keep files in a folder of their own, below the run's."""
        self._beside = beside
        self._folder = f"{_PREFIX}{uuid4().hex}"
        self._names = count()
        self._is_made = False
        self._is_making = threading.Lock()

    def kept(self, frame: DataFrame) -> "RemotelyKept":
        """Compute the rows of a frame into files."""
        with self._is_making:
            if not self._is_made:
                self._beside.make_temporary(self._folder)
                self._is_made = True
        uri = f"{self._beside.uri}/{self._folder}/{next(self._names)}"
        frame.write.parquet(uri)
        return RemotelyKept(uri, frame.sparkSession.read.schema(frame.schema).parquet(uri))

    def remove(self) -> None:
        """Remove the folder. Frames that read it can't be used any more."""
        if self._is_made:
            self._beside.remove(self._folder)


class RemotelyKept:
    """The rows of one frame, in files at a URI, read by Spark."""

    def __init__(self, uri: str, found: DataFrame) -> None:
        """Refer to the files and count their rows, which reads their footers."""
        self.uri, self.schema, self._found = uri, found.schema, found
        self.rows = found.count()

    def as_table(self) -> pa.Table:
        """The rows, all in the driver."""
        return self._found.toArrow()


def in_full(place: Path | str) -> str:
    """A place as Spark is to read it, whatever its own file system is (`fs.defaultFS`).

    Raises:
        UsageError: its name is no text in UTF-8, as Java's names of files are.
    """
    if (name := str(place)) != printable(name):
        raise UsageError(
            f"Spark can't read {printable(name)}, whose name is not UTF-8: rename it, or let "
            "DuckDB judge it (--engine duckdb)"
        )
    return f"file://{place.absolute()}" if isinstance(place, Path) else place
