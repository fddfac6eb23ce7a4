"""The clients under test, as plans name them."""

import enum


class Client(enum.StrEnum):
    """A consumer that a group can be read with.

    java: `KafkaConsumer` of the Kafka version under test, classic group protocol.
    java-consumer: the same with `group.protocol=consumer` (KIP-848).
    librdkafka: confluent-kafka, classic protocol.
    kafka-python: the pure Python client, classic protocol.
    """

    JAVA = "java"
    JAVA_CONSUMER = "java-consumer"
    LIBRDKAFKA = "librdkafka"
    KAFKA_PYTHON = "kafka-python"


_CONSUMER_PROTOCOL_SINCE = 4


def clients_of(kafka: str) -> list[Client]:
    """The clients that can be tested with a Kafka version: KIP-848 is enabled from 4.0."""
    major = int(kafka.partition(".")[0])
    return [
        client
        for client in Client
        if client is not Client.JAVA_CONSUMER or major >= _CONSUMER_PROTOCOL_SINCE
    ]
