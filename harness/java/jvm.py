"""Kafka's own Java classes inside a worker, through JPype."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jpype

from cluster.kafka.config import kafka_class_data, property_value
from contract.events import NO_EPOCH
from contract.files import replace_text
from contract.processes import with_class_data

_STRING_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_LOG4J2 = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}} %m%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
logger.config.name = org.apache.kafka.clients.consumer.ConsumerConfig
logger.config.level = warn
logger.producer.name = org.apache.kafka.clients.producer.ProducerConfig
logger.producer.level = warn
logger.metrics.name = org.apache.kafka.common.metrics
logger.metrics.level = warn
"""

_RELOAD4J = """\
log4j.rootLogger = INFO, file
log4j.appender.file = org.apache.log4j.FileAppender
log4j.appender.file.File = {log}
log4j.appender.file.layout = org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}} %m%n
log4j.logger.org.apache.kafka.clients.consumer.ConsumerConfig = WARN
log4j.logger.org.apache.kafka.clients.producer.ProducerConfig = WARN
log4j.logger.org.apache.kafka.common.metrics = WARN
"""


def start_jvm(jars: Iterable[str], *, log: Path) -> None:
    """Start this process's JVM with these jars of Kafka's; its log (UTC times) goes to `log`.

    Files that it needs for itself are beside the log.
    It starts with the servers' class data where that is made: JPype puts its own jar last.

    The clients under test log at INFO, since log lines are the only trace of a truncation that a
    reset policy handles.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log4j2 = log.with_suffix(".log4j2.properties")
    replace_text(log4j2, _LOG4J2.format(log=property_value(str(log))))
    reload4j = log.with_suffix(".log4j.properties")
    replace_text(reload4j, _RELOAD4J.format(log=property_value(str(log))))
    class_path = [Path(jar) for jar in jars]
    java_home = Path(jpype.getDefaultJVMPath()).resolve().parents[2]
    jpype.startJVM(
        "-Xmx512m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        *with_class_data(kafka_class_data(class_path, java_home=java_home)),
        "-Duser.timezone=UTC",
        f"-Djava.io.tmpdir={log.parent}",
        f"-Dlog4j2.configurationFile={log4j2.as_uri()}",
        f"-Dlog4j.configuration={reload4j.as_uri()}",
        classpath=class_path,
        convertStrings=True,
    )


def java_class(name: str) -> Any:
    """Return a Java class by its full name."""
    return jpype.JClass(name)


def first_java_class(*names: str) -> Any:
    """Return the class of the first name that this Kafka version has."""
    for name in names[:-1]:
        try:
            return jpype.JClass(name)
        except TypeError:
            continue
    return jpype.JClass(names[-1])


def exception_name(error: Any) -> str:
    """Return the simple name of a Java exception's class, e.g. `LogTruncationException`."""
    return str(error.getClass().getSimpleName())


def private_field(owner: Any, name: str) -> Any:
    """Return the value of a private field of a Java object's own class.

    Raises:
        java.lang.NoSuchFieldException: this Kafka version has no such field.
    """
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)


def java_list(items: Iterable[Any]) -> Any:
    """Return a `java.util.ArrayList`."""
    made = java_class("java.util.ArrayList")()
    for item in items:
        made.add(item)
    return made


def java_partition(topic: str, partition: int) -> Any:
    """Return a `TopicPartition`."""
    return java_class("org.apache.kafka.common.TopicPartition")(topic, partition)


def java_offset(offset: int, epoch: int) -> Any:
    """Return an `OffsetAndMetadata`, without an epoch where there is none."""
    optional = java_class("java.util.Optional")
    leader_epoch = (
        optional.empty()
        if epoch == NO_EPOCH
        else optional.of(java_class("java.lang.Integer")(epoch))
    )
    return java_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")(
        offset, leader_epoch, ""
    )


def java_properties(settings: dict[str, str]) -> Any:
    """Return a `java.util.Properties`."""
    properties = java_class("java.util.Properties")()
    for key, value in settings.items():
        properties.setProperty(key, value)
    return properties


def kafka_consumer(settings: dict[str, str]) -> Any:
    """Open a `KafkaConsumer` of strings; it commits nothing by itself, unless a setting says so."""
    return java_class("org.apache.kafka.clients.consumer.KafkaConsumer")(
        java_properties(
            {
                "enable.auto.commit": "false",
                "key.deserializer": _STRING_DESERIALIZER,
                "value.deserializer": _STRING_DESERIALIZER,
                **settings,
            }
        )
    )


def kafka_version() -> str:
    """Return the version of the JVM's Kafka classes, from `AppInfoParser`."""
    parser = first_java_class(
        "org.apache.kafka.common.utils.internals.AppInfoParser",
        "org.apache.kafka.common.utils.AppInfoParser",
    )
    return str(parser.getVersion())
