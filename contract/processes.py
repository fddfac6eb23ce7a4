"""Programs that this one starts: children that report their end, Java, and Spark."""

import fcntl
import glob
import hashlib
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from contract.errors import AnalysisError, PrerequisiteError, UsageError, WaitTimeoutError
from contract.packages import environment
from contract.waiting import wait_until

# A program that runs as a child of this one; Ctrl-C reaches only the parent.
#
# A program of this project reports its end to its parent (`report_end`). One that ends
# without that has no result, whatever its exit status: a module that it loads may have ended it.


_END_SECONDS = 10
_GROUP_SECONDS = 5
_PIPE = "FENCEPOST_END"
"""Names the pipe to the parent: its descriptor and its inode, so that no other one is taken."""


class Child:
    """A program of this project that was started, in a session of its own.

    A terminal's Ctrl-C reaches only this process, which ends the program by SIGTERM, or SIGKILL if
    that takes too long.
    """

    def __init__(
        self, argv: Sequence[str], *, stdin: int | None = None, stdout: int | None = None
    ) -> None:
        """Start it; `stdin` and `stdout` are as of `subprocess.Popen`."""
        reported, to_parent = os.pipe()
        os.set_blocking(reported, False)
        self._reported = os.fdopen(reported, "rb", buffering=0)
        pipe = f"{to_parent}:{os.fstat(to_parent).st_ino}"
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                env=environment({_PIPE: pipe}),
                pass_fds=(to_parent,),
                start_new_session=True,
            )
        except BaseException:
            self._reported.close()
            raise
        finally:
            os.close(to_parent)

    def finish(self, *, what: str) -> int:
        """Wait for its end and return its exit status; `what` names the program in messages.

        Raises:
            AnalysisError: it was killed, or ended without a result.
            KeyboardInterrupt: this process was interrupted; the program has ended.
        """
        try:
            status = self.process.wait()
        except KeyboardInterrupt:
            self.end()
            raise
        with self._reported:
            # None where another process of it keeps the pipe open.
            has_reported = bool(self._reported.read(1))
        if status < 0:
            _end_group(self.process.pid)
            raise AnalysisError(f"{what} was killed by signal {-status}")
        if not has_reported:
            raise AnalysisError(
                f"{what} ended with status {status} and without a result: something that it loads "
                "ended it"
            )
        return status

    def end(self) -> None:
        """End the program and the processes that it started, by SIGKILL if SIGTERM does not."""
        self._reported.close()
        self.process.terminate()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        _end_group(self.process.pid)


def run_child(argv: Sequence[str], *, what: str, stdout: int | None = None) -> int:
    """Run a program to its end and return its exit status.

    Args:
        argv: its command.
        what: names the program in messages.
        stdout: as of `subprocess.Popen`.

    Raises:
        AnalysisError: it was killed, or ended without a result.
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    child: Child | None = None
    try:
        with _interrupts_later():
            child = Child(argv, stdout=stdout)
        return child.finish(what=what)
    except KeyboardInterrupt:
        if child is not None:
            child.end()
        raise


def run_group(
    argv: Sequence[str],
    *,
    given: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_seconds: float | None = None,
    end_seconds: float = _END_SECONDS,
) -> "subprocess.CompletedProcess[str]":
    """Run a program of others to its end, with what it prints.

    One that takes too long, or is left by an interrupt, ends with all that it started: by SIGTERM,
    and by SIGKILL if that takes too long.

    Args:
        argv: its command.
        given: its standard input; none by default.
        env: its environment; None: this process's.
        cwd: the folder in which it runs.
        timeout_seconds: the limit; None: there is none.
        end_seconds: how long it may remove what it made, after SIGTERM.

    Raises:
        subprocess.TimeoutExpired: it took too long, and has ended.
        KeyboardInterrupt: this process was interrupted; the program has ended.
    """
    process: subprocess.Popen[str] | None = None
    try:
        with _interrupts_later():
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        said, errors = process.communicate(given, timeout_seconds)
    except BaseException:
        if process is not None:
            with process:
                _end_with_group(process, end_seconds)
        raise
    return subprocess.CompletedProcess(argv, process.returncode, said, errors)


def _end_with_group(process: "subprocess.Popen[str]", end_seconds: float) -> None:
    try:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=end_seconds)
    finally:  # A further interrupt ends the wait.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _end_group(process.pid)


def report_end() -> None:
    """Report to the parent, if it is one of this project, that this program comes to its end."""
    descriptor, _, inode = os.environ.get(_PIPE, "").partition(":")
    with suppress(OSError, ValueError):
        found = os.fstat(int(descriptor))
        if stat.S_ISFIFO(found.st_mode) and found.st_ino == int(inode):
            os.write(int(descriptor), b"\n")


def _end_group(group: int) -> None:
    """Wait for the processes that a program left, such as Spark's JVM, then kill the rest."""
    with suppress(WaitTimeoutError):
        wait_until(
            lambda: not _has_processes(group),
            what="the end of what a program started",
            timeout_seconds=_GROUP_SECONDS,
        )
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Delay an interrupt (Ctrl-C) during the block until the block ends.

    Otherwise it might be raised after a program was started and before a variable refers to it.

    Raises:
        KeyboardInterrupt: this process was interrupted meanwhile.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        raise KeyboardInterrupt


_OPEN_FILES_MIN = 1024
"""What most systems have as their soft limit."""


def require_open_files() -> int:
    """Check how many files a process may open; a soft limit is raised where the hard one permits.

    Returns:
        How many it may open then.

    Raises:
        PrerequisiteError: too few.
    """
    soft, hard = (
        sys.maxsize if limit in (resource.RLIM_INFINITY, -1) else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    if hard < _OPEN_FILES_MIN:
        raise PrerequisiteError(
            f"a process may open {hard} files here, and {_OPEN_FILES_MIN} are needed: raise the "
            f"limit with: ulimit -n {_OPEN_FILES_MIN}"
        )
    if soft < _OPEN_FILES_MIN:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES_MIN, most))
    return max(soft, _OPEN_FILES_MIN)


# The Java that runs brokers, clients and Spark on this machine, and its class data (decision 18).
#
# A class data archive holds the classes that a program loaded, parsed and verified. A JVM that maps
# it starts with them. It is made once for a program, a class path and a Java.


CLASS_DATA_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
"""Flags of a JVM that is to print nothing about archives, whether it reads or writes one."""

_JAVA_MIN = 17
_MAPPED = ("-Xshare:auto", "-XX:+VerifySharedSpaces", *CLASS_DATA_QUIET)
"""Without the archive where it does not fit; its checksums are compared with its content."""

_LOCK = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_RELEASE = re.compile(r'^JAVA_VERSION="((\d+)[\w.+-]*)"$', re.MULTILINE)
_OF_JAVA = ("release", "lib/modules", "lib/server/classes.jsa")
"""Below a Java's home: its version, its own classes, and their archive, which others build on."""

_HASH_DIGITS = 12


def java_command() -> str:
    """The `java` of JAVA_HOME, else that of the PATH.

    Raises:
        PrerequisiteError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if found is None:
        raise PrerequisiteError(
            "no java in JAVA_HOME or on PATH; Debian: apt-get install openjdk-17-jre-headless"
        )
    return found


@dataclass(frozen=True)
class ClassData:
    """Where the class data archive of a program lies, once it is made.

    Its file's name ends with its size, since a JVM crashes on an archive that was truncated.

    Attributes:
        folder: of all archives.
        program: a name, with a version.
        java: a version, e.g. `17.0.15`.
        digest: of the jars' and the Java's paths, sizes and times, in hexadecimal.
    """

    folder: Path
    program: str
    java: str
    digest: str

    @property
    def archive(self) -> Path | None:
        """The archive; None if there is none, or only one of another size than it had."""
        for path in self.folder.glob(f"{glob.escape(self._stem)}-*.jsa"):
            with suppress(FileNotFoundError):
                if path.stem.rpartition("-")[2] == str(path.stat().st_size):
                    return path
        return None

    @contextmanager
    def making(self) -> Iterator[Path | None]:
        """A path to write the archive to; at the end it gets its name, if it was written.

        None where another process writes one of the same program, or the folder takes no files.
        Archives of the same program and Java that fit no more are removed.
        """
        with ExitStack() as stack:
            part: Path | None = None
            with suppress(OSError):
                self.folder.mkdir(parents=True, exist_ok=True)
                lock = os.open(self.folder / f"{self.program}.lock", _LOCK, 0o600)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (self.folder / f"{self.program}.part").unlink(missing_ok=True)
                part = self.folder / f"{self.program}.part"
            if part is None:
                yield None
                return
            try:
                yield part
                if part.exists():
                    self._keep(part)
            finally:
                part.unlink(missing_ok=True)

    def _keep(self, part: Path) -> None:
        for old in self.folder.glob(f"{glob.escape(self._of_program)}-*.jsa"):
            old.unlink()
        part.replace(self.folder / f"{self._stem}-{part.stat().st_size}.jsa")

    @property
    def _of_program(self) -> str:
        return f"{self.program}-java-{self.java}"

    @property
    def _stem(self) -> str:
        return f"{self._of_program}-{self.digest}"


def class_data(
    program: str, jars: Sequence[Path], *, java_home: Path | None = None
) -> ClassData | None:
    """The class data of a program on a class path; None where Java can't have any.

    It is code, so it lies where installed code does: in the virtual environment.

    Args:
        program: a name for files, with a version, e.g. `kafka-4.4.0`.
        jars: its class path; further jars may follow when it starts.
        java_home: of the JVM; None: of `java_command`.
    """
    folder = Path(sys.prefix) / "share" / "fencepost"
    if sys.prefix == sys.base_prefix or os.pathsep in str(folder):
        return None
    try:
        home = java_home or Path(java_command()).resolve().parents[1]
        version = _RELEASE.search((home / "release").read_text())
        if version is None or int(version[2]) < _JAVA_MIN:
            return None
        digest = _digest([*jars, *(home / name for name in _OF_JAVA)])
    except (OSError, IndexError, PrerequisiteError):
        return None
    return ClassData(folder, program, version[1], digest)


def with_class_data(of: ClassData | None) -> list[str]:
    """The flags of a JVM that starts with this class data; none if there is no archive of it.

    A JVM that the archive does not fit starts without it, and prints nothing.
    """
    archive = None if of is None else of.archive
    return [] if archive is None else [f"-XX:SharedArchiveFile={archive}", *_MAPPED]


def _digest(files: Sequence[Path]) -> str:
    """Return a digest of the values that a JVM compares before it maps an archive."""
    seen = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:_HASH_DIGITS]


# What can be said of Spark before it is started: a JVM says it in many lines.


_HOME = "SPARK_HOME"
_LAUNCHER = Path("bin", "spark-submit")

_MASTER = re.compile(
    r"local(\[([1-9][0-9]{0,4}|\*)(, *[1-9][0-9]{0,4})?\])?"
    r"|local-cluster\[ *[1-9][0-9]* *, *[1-9][0-9]* *, *[1-9][0-9]* *\]"
    r"|spark://[^/,:\s]+:[0-9]{1,5}(,[^/,:\s]+:[0-9]{1,5})*"
    r"|yarn|k8s://\S+"
)
_LOCAL = "local"
_STANDALONE = "spark://"
_CONNECT_SECONDS = 15
_SIZE = re.compile(r"[1-9][0-9]{0,11}([kmgtp]b?|b)?", re.IGNORECASE)
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_FORMS = (
    (re.compile(r"spark\..*memory(Overhead)?"), _SIZE, "a size such as 4g"),
    (re.compile(r"spark\.(.*\.)?(cores|cores\.max|cpus|instances)"), _NUMBER, "a number from 1 on"),
)
"""Settings whose form is known."""


def is_local(master: str | None) -> bool:
    """Whether Spark runs in one process of this machine."""
    return master is None or master == _LOCAL or master.startswith(f"{_LOCAL}[")


def require_options(master: str | None, settings: Iterable[str]) -> None:
    """Check `--master`, and `--conf` of each setting, as far as their forms are known.

    Raises:
        UsageError: one has another form.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise UsageError(
            f"--master {master or repr(master)}: expected local, local[N], local[*], "
            "spark://HOST:PORT, yarn or k8s://URL"
        )
    for setting in settings:
        key, _, value = setting.partition("=")
        for keys, form, words in _FORMS:
            is_meant = keys.fullmatch(key.strip()) is not None
            if is_meant and not form.fullmatch(value.strip()):
                raise UsageError(f"--conf {setting}: expected {words}")


def require_master(master: str | None) -> None:
    """Check that something listens where standalone masters are to be; Spark waits for a minute.

    Raises:
        PrerequisiteError: nothing does.
    """
    if master is None or not master.startswith(_STANDALONE):
        return
    addresses = master.removeprefix(_STANDALONE).split(",")
    problems = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _CONNECT_SECONDS / len(addresses)).close()
        except (OSError, OverflowError, UnicodeError) as error:
            problems.append(f"{address} ({getattr(error, 'strerror', None) or error})")
        else:
            return
    raise PrerequisiteError(
        f"No Spark master listens at {' or '.join(problems)}: start it, or give --master the URL "
        "that it logs when it starts"
    )


def require_spark_home() -> None:
    """Check that a SPARK_HOME, by which a user names another Spark, has what PySpark starts.

    Raises:
        PrerequisiteError: it has not, or is empty.
    """
    home = os.environ.get(_HOME)
    if home is None:
        return
    launcher = Path(home, _LAUNCHER)
    if not home or shutil.which(str(launcher)) is None:
        what = f"{launcher} is no program" if home else "it is empty"
        raise PrerequisiteError(
            f"{_HOME}={home} names no Spark ({what}): set it to a folder of Spark, or unset it"
        )
