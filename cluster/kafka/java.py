"""The options of Kafka's Java programs; imports little, since workers on nodes import it."""

from collections.abc import Sequence
from pathlib import Path

from cluster.java import ClassData, class_data
from cluster.kafka.config import LOG_CONFIGS

_JVM_FLAGS = (
    "-Xmx384m",
    "-Xms128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Duser.timezone=UTC",
)


def java_options(home: Path, class_path: Sequence[Path]) -> list[str]:
    """Return the options of `java`: flags, the class path; logging and its own files in `home`."""
    log4j2, reload4j = (home / name for name in LOG_CONFIGS)
    options = [
        *_JVM_FLAGS,
        f"-Djava.io.tmpdir={home}",
        f"-Dlog4j2.configurationFile={log4j2.as_uri()}",
    ]
    options += [f"-Dlog4j.configuration={reload4j.as_uri()}"]
    return [*options, "-cp", ":".join(map(str, class_path))]


def kafka_class_data(
    class_path: Sequence[Path], *, java_home: Path | None = None
) -> ClassData | None:
    """The class data of a Kafka version, whose jars lie in a folder that is named by it.

    Args:
        class_path: of `Node.class_path`.
        java_home: as of `class_data`.
    """
    return class_data(f"kafka-{class_path[0].parent.name}", class_path, java_home=java_home)
