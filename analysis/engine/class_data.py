"""Class data of Spark's JVM, recorded once (docs/decisions/0018)."""

import os
from pathlib import Path

import pyspark

from analysis.engine import jvm
from contract.processes import CLASS_DATA_QUIET, ClassData, class_data, with_class_data

_FOLDERS_OF_CLASSES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
"""They put folders on the class path. A JVM writes no archive if such a folder has files."""


def flags() -> list[str]:
    """Of a JVM that starts with the class data, if they were recorded."""
    return with_class_data(_place())


def to_record() -> ClassData | None:
    """The class data, if they are missing and can be recorded here."""
    place = _place()
    conf = Path(os.environ.get("SPARK_CONF_DIR") or jvm.spark_home() / "conf")
    has_folders = any(map(os.environ.get, _FOLDERS_OF_CLASSES)) or any(conf.glob("*"))
    return None if place is None or place.archive is not None or has_folders else place


def recording(archive: Path) -> list[str]:
    """Flags of a JVM that writes the class data when it ends."""
    return [f"-XX:ArchiveClassesAtExit={archive}", *CLASS_DATA_QUIET]


def _place() -> ClassData | None:
    jars = sorted((jvm.spark_home() / "jars").glob("*.jar"))
    return class_data(f"spark-{pyspark.__version__}", jars)
