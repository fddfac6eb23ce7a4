"""The repository for jars: the user's mirror, else Ivy's own default.

PySpark includes Ivy, whose `IBiblioResolver` has the address of Maven's central repository as
a constant. Reading it there keeps addresses out of this project.
"""

import importlib.util
import os
import re
import zipfile
from pathlib import Path

from contract.errors import DistributionError

MIRROR_VARIABLE = "FENCEPOST_MAVEN_MIRROR"
_RESOLVER = "org/apache/ivy/plugins/resolver/IBiblioResolver.class"
_DEFAULT_M2_ROOT = re.compile(rb"https://[\x21-\x7e]+?/maven2/")


def ivy_jar() -> Path:
    """Return the path of the Ivy jar that PySpark includes.

    Raises:
        DistributionError: PySpark is not installed here.
    """
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or []) if spec else []
    jars = [jar for folder in folders for jar in Path(folder).glob("jars/ivy-*.jar")]
    if not jars:
        raise DistributionError("PySpark with its Ivy is not installed here: run `make` again")
    return jars[0]


def repository_root() -> str:
    """Return the address of the repository.

    Raises:
        DistributionError: no mirror is set and this Ivy has no default.
    """
    if mirror := os.environ.get(MIRROR_VARIABLE):
        return mirror if "://" in mirror else Path(mirror).resolve().as_uri()
    with zipfile.ZipFile(ivy_jar()) as jar:
        found = _DEFAULT_M2_ROOT.search(jar.read(_RESOLVER))
    if found is None:
        raise DistributionError(
            f"this Ivy names no default repository: set {MIRROR_VARIABLE} to a Maven repository"
        )
    return found.group().decode()
