"""Archives from a container, unpacked safely into one folder."""

import shutil
import tarfile
from pathlib import Path
from typing import IO

from contract.errors import NodeError


def unpack(archive: IO[bytes], target: Path) -> None:
    """Write the files and folders of an archive below `target`, without its first folder's name.

    Links and devices are skipped: they have no meaning outside of their node.

    Raises:
        NodeError: the archive is damaged, or a name in it leads out of `target`. Other members are
            written nevertheless.
    """
    outside = []
    try:
        with tarfile.open(fileobj=archive) as tar:
            for member in tar:
                _, _, below = member.name.partition("/")
                place = target / below if below else target
                if place.resolve().is_relative_to(target.resolve()):
                    _write(tar, member, place)
                else:
                    outside.append(member.name)
    except tarfile.TarError as error:
        raise NodeError(f"an archive for {target} is damaged ({error})") from None
    if outside:
        names = ", ".join(map(repr, outside))
        raise NodeError(f"an archive for {target} has names that lead out of it: {names}")


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.isfile() and (content := tar.extractfile(member)) is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            shutil.copyfileobj(content, file)


def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Set root as a member's owner: a container's root can't access files of other owners.

    For `TarFile.add`.
    """
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
