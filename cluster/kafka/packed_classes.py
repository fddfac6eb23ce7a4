"""A folder of classes as a jar, so that it can be hashed and copied to nodes as jars are."""

import hashlib
import zipfile
from io import BytesIO
from pathlib import Path

from contract.regular_files import replace_file

_SOME_TIME = (1980, 1, 1, 0, 0, 0)


def packed(folder: Path, cache: Path) -> Path | None:
    """Pack all files below a folder into a jar; None if no class is among them.

    Its name has the hash of its content, so that the same classes give the same jar.

    Raises:
        OSError: a file can't be read, or the cache can't be written.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not any(path.suffix == ".class" for path in files):
        return None
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as jar:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _SOME_TIME)
            jar.writestr(entry, path.read_bytes())
    whole = content.getvalue()
    cache.mkdir(parents=True, exist_ok=True)
    made = cache / f"{folder.name}-{hashlib.sha256(whole).hexdigest()[:12]}.jar"
    replace_file(made, whole)
    return made
