"""Private user, network, mount and pid namespaces for a whole embedded pool.

Everything that a run starts is inside. When the sandbox's first process ends, the kernel kills the
others, and removes the namespaces, bridges and routes with the last one. The first process is
`supervise` below. It ends with its command, or at once when the harness outside ends (also by
SIGKILL), which closes a pipe that only the harness holds open.

The first process has user, mount and pid namespaces, and makes the machine's files read-only,
without devices and secrets (`confine`). Its command is in further namespaces, which `enter`
prepares (docs/decisions/0039). They inherit the mounts, and can't change them: the kernel locks
what comes from another owner.
"""

import ctypes
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from contract.errors import NodeError
from contract.packages import PACKAGES, environment, python

_MODULE = "cluster.nodes.sandbox"
_OUTER = (
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--ipc",
    "--uts",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
)
_INNER = ("unshare", "--user", "--map-root-user", "--net", "--mount")
_ENTER, _TRY = "enter", "try"
_PROBE_SECONDS = 20
_END_SECONDS = 5
_DIED = 70

_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8
_REMOUNT, _BIND, _MOVE, _RECURSIVE = 32, 4096, 8192, 16384
_FLAGS = {
    "ro": _READ_ONLY,
    "nosuid": _NO_SUID,
    "nodev": _NO_DEVICES,
    "noexec": _NO_PROGRAMS,
    "nosymfollow": 256,
    "noatime": 1024,
    "nodiratime": 2048,
    "relatime": 1 << 21,
}
"""Of a mount: a new owner has to keep them."""
_MOUNTS = Path("/proc/self/mountinfo")
_PRIVATE, _PROCESSES = "/run", "/proc"
_DEVICES = ("full", "null", "random", "tty", "urandom", "zero")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_SECRETS = (
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/sudoers",
    "/etc/sudoers.d",
)
_SECRETS_OF_USERS = (
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".pypirc",
    ".ssh",
)
_CAPABILITY_MAX = 63
_DROP_BOUND = 24
"""prctl's PR_CAPBSET_DROP."""
_KEPT = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}
"""Links, addresses and nftables rules; raw packets; the namespaces of nodes."""

_UNREACHABLE = (errno.EACCES, errno.EINVAL, errno.ENOENT, errno.ENOTCONN, errno.ESTALE)
"""Of a place that no path leads to: something is mounted above it, or it may not be entered."""

_libc = ctypes.CDLL(None, use_errno=True)


class _UnreachableError(NodeError):
    """No path leads to a mount."""


class Sandbox:
    """A command that runs inside a sandbox of its own, until it ends or its owner ends.

    Root and ordinary users alike can start one.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdout: int | None = None,
        writable: Sequence[Path] = (),
    ) -> None:
        """Start it; standard error goes to standard output if that is given.

        It is in a session of its own: a terminal's Ctrl-C reaches its owner alone. It can write
        the folders `writable`, and files of its own below /run.
        """
        end_inside, self._lifeline = os.pipe()
        folders = json.dumps([str(folder.absolute()) for folder in writable])
        supervisor = python(_MODULE, str(end_inside), folders, *argv)
        self._process = subprocess.Popen(
            [*_OUTER, *supervisor],
            env=environment(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT if stdout is not None else None,
            pass_fds=(end_inside,),
            start_new_session=True,
        )
        os.close(end_inside)
        self.stdout = self._process.stdout
        self.pid = self._process.pid

    def wait(self) -> int:
        """Wait for the command's end and return its exit status."""
        return self._process.wait()

    def kill(self) -> None:
        """Kill everything inside, and wait for its end; does nothing if it has ended.

        The lifeline lets all end in order. Where a process of the sandbox is stopped, it takes the
        kernel: with `unshare` it kills the first process, and with that all others.
        """
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def sandbox_problem() -> str | None:
    """Return why no sandbox works on this machine and what to do; None if one works."""
    still = "Until then `--cluster loopback` runs every scenario that needs process faults only."
    if sys.platform != "linux":
        return f"the embedded pool needs Linux network namespaces. {still}"
    if shutil.which("unshare") is None:
        return f"`unshare` is missing: install it (Debian: apt-get install util-linux). {still}"
    status, said = _probe("true")
    if status == 0:
        return None
    return (
        f"this machine blocks user namespaces, which the embedded pool needs "
        f"({said or f'unshare ended with {status}'}). {_fix()} {still}"
    )


def cut_problem() -> str | None:
    """Return why packets can't be dropped in a working sandbox; None if they can."""
    status, said = _probe(*python("cluster.nodes.firewall"))
    if status == 0:
        return None
    return (
        f"the kernel refuses nftables rules ({said}): modprobe nf_tables. Until then only "
        "scenarios with process faults can run."
    )


def _probe(*command: str) -> tuple[int, str]:
    """Run a command in a sandbox; returns its status and the last line of its errors."""
    try:
        ended = subprocess.run(
            [*_OUTER, *python(_MODULE, _TRY, *command)],
            cwd=PACKAGES,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return _DIED, f"unshare did not end within {_PROBE_SECONDS} s"
    return ended.returncode, ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]


def _fix() -> str:
    """Return the setting that probably blocks user namespaces, and the command that changes it."""
    suspects = {
        "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
        "kernel.unprivileged_userns_clone": ("0", "1"),
        "user.max_user_namespaces": ("0", "15000"),
    }
    for name, (blocking, lifted) in suspects.items():
        setting = Path("/proc/sys") / name.replace(".", "/")
        if setting.exists() and setting.read_text().strip() == blocking:
            return f"Allow them with: sudo sysctl -w {name}={lifted}."
    return "A container runtime's seccomp profile may forbid them: run on the host itself."


def supervise(lifeline: int, writable: Sequence[Path], argv: Sequence[str]) -> int:
    """Run as the sandbox's first process: confine it, run the command inside, reap orphans.

    Returns the command's exit status.
    """
    threading.Thread(target=_die_with_harness, args=(lifeline,), daemon=True).start()
    confine(writable)
    command = subprocess.Popen(_inside(argv), stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: command.send_signal(received))
    while True:
        pid, status = os.wait()
        if pid == command.pid:
            return os.waitstatus_to_exitcode(status)


def _inside(argv: Sequence[str]) -> list[str]:
    return [*_INNER, *python(_MODULE, _ENTER, *argv)]


def enter(argv: Sequence[str]) -> None:
    """Prepare the inner namespaces, and become the command."""
    _bring_loopback_up()
    drop_capabilities()
    os.environ["TMPDIR"] = "/run"
    os.execvp(argv[0], list(argv))  # noqa: S606 - each word is one of our own making


def _die_with_harness(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(_DIED)


def _bring_loopback_up() -> None:
    from pyroute2 import IPRoute  # noqa: PLC0415 - only the sandbox's first process needs netlink

    with IPRoute() as route:
        route.link("set", index=route.link_lookup(ifname="lo")[0], state="up")


def confine(writable: Sequence[Path]) -> None:
    """Make all read-only but these folders, and a private `/run` and `/dev`; hide secrets.

    Raises:
        NodeError: a mount failed.
    """
    opened = {folder: os.open(folder, os.O_PATH | os.O_CLOEXEC) for folder in writable}
    _mount("tmpfs", _PRIVATE, kind="tmpfs")
    _make_devices()
    for folder, descriptor in opened.items():
        folder.mkdir(parents=True, exist_ok=True)  # It may be covered now.
        _mount(f"/proc/self/fd/{descriptor}", str(folder), flags=_BIND | _RECURSIVE)
        os.close(descriptor)
    for secret in _secrets():
        _hide(secret)
    for setting in _settings():
        _mount(str(setting), str(setting), flags=_BIND)
    own = [_PRIVATE, "/dev", *(str(folder) for folder in writable)]
    for place, flags in list(_mounts()):
        is_own = any(place == folder or place.startswith(f"{folder}/") for folder in own)
        if not is_own and place != _PROCESSES and not flags & _READ_ONLY:
            with suppress(_UnreachableError):
                _mount(None, place, flags=_REMOUNT | _BIND | _READ_ONLY | flags)


def drop_capabilities() -> None:
    """Drop what no fault needs, for this process and all that it starts."""
    for capability in range(_CAPABILITY_MAX + 1):
        if capability not in _KEPT.values():
            _libc.prctl(_DROP_BOUND, capability, 0, 0, 0)


def _make_devices() -> None:
    """Cover /dev by one that has only what every program may use."""
    made = Path(_PRIVATE) / "dev"
    made.mkdir()
    _mount("tmpfs", str(made), kind="tmpfs", flags=_NO_SUID)
    for name in _DEVICES:
        (made / name).touch()
        _mount(f"/dev/{name}", str(made / name), flags=_BIND)
    for name, target in _LINKS.items():
        (made / name).symlink_to(target)
    (made / "shm").mkdir(mode=0o1777)
    _mount(str(made), "/dev", flags=_MOVE)
    made.rmdir()


def _settings() -> Iterator[Path]:
    """What of /proc is the machine's, and not of a process; a process can map users in its own."""
    for path in Path(_PROCESSES).iterdir():
        if not path.name.isdecimal() and not path.is_symlink():
            yield path


def _secrets() -> Iterator[Path]:
    homes = {Path("/root"), *Path("/home").glob("*")}
    with suppress(RuntimeError):  # The user has none.
        homes.add(Path.home())
    paths = [Path(secret) for secret in _SECRETS]
    paths += [home / secret for home in sorted(homes) for secret in _SECRETS_OF_USERS]
    for path in paths:
        try:
            if path.exists():
                yield path
        except OSError:  # It can't be reached, so it needs no cover.
            continue


def _hide(path: Path) -> None:
    """Cover a folder by an empty one, a file by nothing."""
    if path.is_dir():
        _mount("tmpfs", str(path), kind="tmpfs", flags=_READ_ONLY)
    else:
        _mount("/dev/null", str(path), flags=_BIND)


def _mounts() -> Iterator[tuple[str, int]]:
    """Each place where something is mounted, with the flags of the mount."""
    for line in _MOUNTS.read_bytes().splitlines():
        fields = line.split(b" ")
        place = re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), fields[4])
        words = fields[5].decode().split(",")
        yield os.fsdecode(place), sum(_FLAGS.get(word, 0) for word in words)


def _mount(source: str | None, place: str, *, kind: str | None = None, flags: int = 0) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, place, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), None) != 0:
        number = ctypes.get_errno()
        kind_of_error = _UnreachableError if number in _UNREACHABLE else NodeError
        raise kind_of_error(f"{place} can't be mounted in the sandbox ({os.strerror(number)})")


if __name__ == "__main__":
    if sys.argv[1] == _ENTER:
        enter(sys.argv[2:])
    if sys.argv[1] == _TRY:
        confine(())
        sys.exit(subprocess.run(_inside(sys.argv[2:]), check=False).returncode)
    folders = [Path(name) for name in json.loads(sys.argv[2])]
    status = supervise(int(sys.argv[1]), folders, sys.argv[3:])
    sys.exit(status if status >= 0 else 128 - status)
