"""What a process of a sandbox sees of this machine: all read-only, without devices and secrets.

The sandbox's first process calls `confine` in its own mount namespace. The namespaces that it makes
then inherit these mounts, and can't change them: the kernel locks what comes from another owner.
"""

import ctypes
import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from contract.errors import NodeError

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
        is_own = any(place == one or place.startswith(f"{one}/") for one in own)
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
    paths = [Path(one) for one in _SECRETS]
    paths += [home / one for home in sorted(homes) for one in _SECRETS_OF_USERS]
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
    words = [None if one is None else os.fsencode(one) for one in (source, place, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), None) != 0:
        number = ctypes.get_errno()
        kind_of_error = _UnreachableError if number in _UNREACHABLE else NodeError
        raise kind_of_error(f"{place} can't be mounted in the sandbox ({os.strerror(number)})")
