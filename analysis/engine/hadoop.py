"""Folders of any file system that Hadoop knows, by the settings of a Spark session."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from analysis.engine import jvm
from contract.errors import AnalysisError

_BLOCK_BYTES = 1 << 20
_READ_BYTES_MAX = 8 << 20
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

    def open(self, name: str) -> io.BufferedReader:
        """Open a file for reading at any place.

        Raises:
            OSError: it is missing or can't be read.
        """
        path = self._path(name)
        with _as_os_error():
            length = int(self._files.getFileStatus(path).getLen())
            return io.BufferedReader(_Stream(self._files.open(path), length), _BLOCK_BYTES)

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

    def make_temporary(self, name: str) -> None:
        """Make a folder that is removed with its content when the JVM ends, unless it is killed.

        Raises:
            OSError: it can't be made.
        """
        with _as_os_error():
            self._files.mkdirs(self._path(name))
            self._files.deleteOnExit(self._path(name))

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self.uri}/{name}")


class _Stream(io.RawIOBase):
    """One of Hadoop's streams as Python's."""

    def __init__(self, stream: Any, length: int) -> None:
        self._stream, self._length, self._at = stream, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}
        self._at = starts[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), _READ_BYTES_MAX, max(0, self._length - self._at))
        if not wanted:
            return 0
        with _as_os_error():
            self._stream.seek(self._at)
            content = self._stream.readNBytes(wanted)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def close(self) -> None:
        if not self.closed:
            with _as_os_error():
                self._stream.close()
        super().close()


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
