"""Where jars come from: a mirror of the user's, else the default that Ivy itself carries.

PySpark brings Ivy along, whose `IBiblioResolver` has the address of Maven's central repository as
a constant; reading it there keeps every address out of this project.
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
    """The Ivy that PySpark brings along.

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
    """The address below which artifacts lie.

    Raises:
        DistributionError: no mirror is set and this Ivy carries no default.
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
