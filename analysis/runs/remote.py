"""Runs at the URI of a Hadoop file system: only their descriptions and reports come here."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.engine.hadoop import HadoopFolder
from contract.errors import RunFolderError
from contract.files import replace_file
from contract.manifest import MANIFEST_FILE
from contract.nights import NIGHT_FILE
from contract.run_folder import NODES_FOLDER, PLAN_FILE, RUN_FILE, RunFolder

_DESCRIPTIONS = {PLAN_FILE, RUN_FILE, MANIFEST_FILE, NIGHT_FILE}
_NO_FILE_SYSTEM = ("ClassNotFoundException", "UnsupportedFileSystemException")


class RemoteFolder:
    """A run, a session or a night at a URI.

    Attributes:
        uri: of it, in full.
        path: a local folder of the same name, with the descriptions of its runs. Reports are
            written here first.
    """

    def __init__(self, uri: str, beside: Path) -> None:
        """Copy the descriptions of the runs there.

        Args:
            uri: a folder of any file system that the running Spark session can reach.
            beside: a local folder, to put them into.

        Raises:
            RunFolderError: the URI can't be read.
        """
        self.uri, self.path = uri, beside / uri.rstrip("/").rpartition("/")[2]
        self._files: list[str] = []
        with self._readable():
            self._root = HadoopFolder(uri)
            self.uri = self._root.uri
            self._files = [
                file for file in self._root.files() if NODES_FOLDER not in Path(file).parts
            ]
            for name in self._files:
                if Path(name).name in _DESCRIPTIONS:
                    self._copy(name)
        if not any(Path(name).name == PLAN_FILE for name in self._files):
            raise RunFolderError(f"no run at or below {uri}: no folder there holds a {PLAN_FILE}")

    def remove(self, folder: RunFolder, names: Iterable[str]) -> None:
        """Remove files of a run's report there.

        Raises:
            RunFolderError: they can't be removed.
        """
        try:
            for name in names:
                self._root.remove(f"{self._below(folder.report)}{name}")
        except OSError as error:
            raise RunFolderError(f"{self.with_uri(str(folder.report))}: {error}") from error

    def publish(self, report: Path) -> None:
        """Copy the files of a local report there; does nothing if there is none.

        Raises:
            RunFolderError: they can't be written.
        """
        if not report.is_dir():
            return
        try:
            for file in sorted(report.iterdir()):
                self._root.put(file, f"{self._below(report)}{file.name}")
        except OSError as error:
            raise RunFolderError(
                f"{self.with_uri(str(report))} can't be written: {error}"
            ) from error

    def with_uri(self, text: str) -> str:
        """A text about the local folder as one about the URI."""
        return text.replace(str(self.path), self.uri)

    def _below(self, folder: Path) -> str:
        """A local folder's path below the URI, as a prefix of names."""
        return "" if folder == self.path else f"{folder.relative_to(self.path)}/"

    def _copy(self, name: str) -> None:
        copy = self.path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        replace_file(copy, self._root.read(name))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = ""
            if any(name in str(error) for name in _NO_FILE_SYSTEM):
                hint = (
                    ". Spark has no such file system: give the package of it with --conf "
                    "spark.jars.packages=..., and its settings with --conf spark.hadoop.fs...."
                    " (fencepost docs clusters)"
                )
            raise RunFolderError(f"{self.uri} can't be read: {error}{hint}") from error
