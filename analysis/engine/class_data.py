"""Spark's class data: the first analysis on a machine records it, later ones start with it.

See docs/decisions/0018.
"""

import os
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from rich.console import Console

from analysis.engine.jvm import gateway as gateway_to_jvm
from analysis.engine.jvm import spark_home
from contract.java import CLASS_DATA_QUIET, ClassData, class_data, with_class_data

_RECORD = "-XX:+RecordDynamicDumpInfo"
_FURTHER_CLASSES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
"""Variables that put folders on Spark's class path. A JVM whose class path has a folder with files
ends when it is to write an archive: "Cannot have non-empty directory in paths"."""


def flags(*, may_record: bool = False) -> list[str]:
    """Flags of Spark's JVM: to start with the archive, or to record one, or none.

    Args:
        may_record: whether to record where there is no archive and one can be kept.
    """
    place = _place()
    if using := with_class_data(place):
        return using
    if may_record and place is not None and place.is_makable and not _has_folders():
        return [_RECORD, *CLASS_DATA_QUIET]
    return []


def keep(progress: Console) -> None:
    """Write the archive of what Spark's JVM recorded; nothing happens if it did not record.

    It takes some 10 s. Sessions must have been stopped. A failure is printed, and harms nothing.
    """
    gateway = gateway_to_jvm()
    place = _place()
    if gateway is None or place is None or not _records(gateway):
        return
    with place.making() as archive:
        if archive is None:
            return
        progress.print("recording Spark's class data, once: later analyses start sooner")
        try:
            said = _dump(gateway, archive)
        except Py4JError as error:
            said = str(error).partition("\n")[0]
        if not archive.exists():
            progress.print(f"it could not be recorded: {said.strip()}", markup=False)


def _records(gateway: Any) -> bool:
    bean = gateway.jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    interface = "java.lang.management.RuntimeMXBean"
    return bool(_RECORD in _called(gateway, bean, interface, "getInputArguments"))


def _dump(gateway: Any, archive: Path) -> str:
    """Let a JVM write an archive by its diagnostic command `VM.cds`; returns its answer."""
    jvm = gateway.jvm
    text, system = jvm.java.lang.String, jvm.java.lang.System
    bean = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    command = (
        jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand"),
        "vmCds",
        _array(gateway, jvm.java.lang.Object, _array(gateway, text, "dynamic_dump", str(archive))),
        _array(gateway, text, "[Ljava.lang.String;"),
    )
    printed = system.out
    system.setOut(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
    try:
        interface = "javax.management.MBeanServerConnection"
        return str(_called(gateway, bean, interface, "invoke", *command))
    finally:
        system.setOut(printed)


def _called(gateway: Any, bean: Any, interface: str, name: str, *arguments: Any) -> Any:
    """Call a method of one of the JVM's own beans, whose interface alone is open to reflection."""
    jvm = gateway.jvm
    methods = jvm.java.lang.Class.forName(interface).getMethods()
    (method,) = (method for method in methods if method.getName() == name)
    return method.invoke(bean, _array(gateway, jvm.java.lang.Object, *arguments))


def _array(gateway: Any, kind: Any, *items: Any) -> Any:
    made = gateway.new_array(kind, len(items))
    for index, item in enumerate(items):
        made[index] = item
    return made


def _place() -> ClassData | None:
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    return class_data(f"spark-{pyspark.__version__}", jars)


def _has_folders() -> bool:
    conf = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf")
    has_conf = conf.is_dir() and any(conf.iterdir())
    return has_conf or any(os.environ.get(name) for name in _FURTHER_CLASSES)
