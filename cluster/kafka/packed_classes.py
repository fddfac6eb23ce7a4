"""A folder of classes as a jar, so that it can be hashed and copied to nodes as jars are."""

import hashlib
import zipfile
from io import BytesIO
from pathlib import Path

from contract.regular_files import replace_file

_OF_KAFKA = "org/apache/kafka"
_SOME_TIME = (1980, 1, 1, 0, 0, 0)


def packed(folder: Path, cache: Path) -> Path | None:
    """Pack all files below a folder into a jar; None if it has no class of Kafka in its place.

    Its name has the hash of its content, so that the same classes give the same jar.

    Raises:
        OSError: a file can't be read, or the cache can't be written.
    """
    if not any((folder / _OF_KAFKA).rglob("*.class")):
        return None
    files = sorted(path for path in folder.rglob("*") if path.is_file())
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
