"""The JVM behind PySpark: its classes, each looked up once, and plans of other sessions.

PySpark looks up a Java class, and a static method of it, for each column and list of a plan. For
each, py4j asks the JVM, which searches all of Spark's jars for names that are no class. That took a
seventh of the time in which a small run was judged.
"""

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember
from pyspark.sql import DataFrame, SparkSession

_ASKED_FOR = (
    "PythonSQLUtils",
    "PythonUtils",
    "functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.expressions.Window",
    "org.apache.spark.sql.functions",
)


class _Statics:
    """A Java class that keeps its static methods once they were asked for."""

    def __init__(self, of: JavaClass) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._of, name)
        if isinstance(member, JavaMember):
            setattr(self, name, member)
        return member


def look_up_once(session: SparkSession) -> None:
    """Keep what PySpark asks a session's JVM for."""
    jvm = session._jvm  # noqa: SLF001 - PySpark itself has no other way to it
    for name in _ASKED_FOR:
        found = getattr(jvm, name)
        if isinstance(found, JavaClass):
            setattr(jvm, name, _Statics(found))


def planned_by(session: SparkSession, frame: DataFrame) -> DataFrame:
    """A frame of another session of the same Spark, to be planned and run as this one is set up."""
    of_frame = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - as above
    jvm: Any = session._jvm  # noqa: SLF001
    datasets = jvm.org.apache.spark.sql.classic.Dataset
    return DataFrame(datasets.ofRows(session._jsparkSession, of_frame), session)  # noqa: SLF001
