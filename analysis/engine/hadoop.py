"""Folders of any file system that Hadoop knows, by the settings of a Spark session."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from analysis.engine import jvm
from contract.errors import AnalysisError, UsageError
from contract.files import printable

LITERAL = {"__globPaths__": "false"}
"""An option of Spark's readers: a path is that path, though `*` or `[1]` is in it."""
_RENAMED_AT_MOST = 10
_MISSING = "java.io.FileNotFoundException"


class HadoopFolder:
    """A folder of a Hadoop file system.

    Attributes:
        uri: as Hadoop writes it, in full, without a slash at its end.
    """

    def __init__(self, uri: str) -> None:
        """Open the file system of a URI, as the running Spark session is set up for it.

        Raises:
            OSError: Hadoop has no such file system, or can't reach it.
            AnalysisError: Spark does not run.
        """
        gateway = jvm.gateway()
        if gateway is None:
            raise AnalysisError("Spark does not run: a URI can't be read")
        self._java = gateway.jvm
        with _as_os_error():
            spark = self._java.org.apache.spark.SparkContext.getOrCreate()
            root = self._java.org.apache.hadoop.fs.Path(f"{uri}/")
            self._files = root.getFileSystem(spark.hadoopConfiguration())
            self.uri = str(self._files.makeQualified(root).toString()).rstrip("/")

    def files(self) -> Iterator[str]:
        """The files at or below this folder, by their paths from here.

        Raises:
            OSError: the folder is missing or can't be read.
        """
        with _as_os_error():
            found = self._files.listFiles(self._path(""), True)
            while found.hasNext():
                yield str(found.next().getPath().toString()).removeprefix(f"{self.uri}/")

    def read(self, name: str) -> bytes:
        """The content of a file, which is small.

        Raises:
            OSError: it is missing or can't be read.
        """
        with _as_os_error():
            stream = self._files.open(self._path(name))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def put(self, file: Path, name: str) -> None:
        """Write a local file there, in place of an earlier one. It appears as a whole.

        Of several that write it at a time, one is the last: only a local file system has locks.

        Raises:
            OSError: it can't be written.
        """
        path = self._path(name)
        part = self._path(f"{name}.{uuid4().hex}.part")
        content = file.read_bytes()
        with _as_os_error():
            try:
                stream = self._files.create(part, False)
                try:
                    stream.write(content)
                finally:
                    stream.close()
                if not self._put_in_place(part, path):
                    raise OSError(f"{self.uri}/{name} can't be replaced")
            finally:
                self._files.delete(part, False)

    def _put_in_place(self, part: Any, path: Any) -> bool:
        """Rename a file over another one, which a process beside this one may do too."""
        for _ in range(_RENAMED_AT_MOST):
            self._files.delete(path, False)
            if self._files.rename(part, path):
                return True
        return False

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with its content; nothing happens if it is missing.

        Raises:
            OSError: it can't be removed.
        """
        with _as_os_error():
            self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self.uri}/{name}")


def in_full(where: str | Path) -> str:
    """A path or URI as Spark is to read it, whatever its own file system is (`fs.defaultFS`).

    Raises:
        UsageError: its name is no text in UTF-8, as Java's names of files are.
    """
    if (name := str(where)) != printable(name):
        raise UsageError(f"Spark can't read {printable(name)}, whose name is not UTF-8: rename it")
    return f"file://{where.absolute()}" if isinstance(where, Path) else where


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Raise what Java reports as an OSError, with the first line of the reason."""
    try:
        yield
    except Py4JJavaError as error:
        reason = jvm.reason(error)
        kind = FileNotFoundError if reason.startswith(_MISSING) else OSError
        raise kind(reason) from error
    except PySparkException as error:  # some exceptions of Java are PySpark's own here
        raise OSError(jvm.reason(error)) from error
    except Py4JError as error:
        raise OSError("Spark's JVM does not respond") from error
