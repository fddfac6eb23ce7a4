"""Any request at any version, written and read as JSON by Kafka's own converters.

The fields have the names of Kafka's message schemas. See
`org.apache.kafka.common.message.*JsonConverter`.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from contract.errors import WorkerError
from contract.events import WireAnswer
from harness.java.jvm import java_class
from harness.wire.request import Broker, ask
from harness.wire.requests import WireRequest


@dataclass(frozen=True)
class Exchange:
    """What was sent, and what came back.

    Attributes:
        api_key: the number of the API.
        request, response: the fields of that version; no response if the call failed.
        failure: why there is no response.
        began_micros: when the request was sent, on this node's wall clock.
    """

    api_key: int
    request: dict[str, Any]
    response: dict[str, Any] | None
    failure: str | None
    began_micros: int


def exchange(broker: Broker, asked: WireRequest, *, timeout_seconds: float) -> Exchange:
    """Send a request and wait for its response; a failed exchange is returned, too.

    Raises:
        WorkerError: Kafka's schema of that version refuses the fields.
    """
    key = java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(asked.api)
    message, request = encoded(key, asked)
    began_micros = time.time_ns() // 1000
    response: dict[str, Any] | None = None
    failure: str | None = None
    try:
        found = ask(
            broker, asked.api, message, version=asked.version, timeout_seconds=timeout_seconds
        )
        response = _fields(found, asked.version)
    except OSError as error:
        failure = f"{type(error).__name__}: {error}"
    return Exchange(int(key.id), request, response, failure, began_micros)


def encoded(key: Any, asked: WireRequest) -> tuple[Any, dict[str, Any]]:
    """Return a request's message, and its fields at its version.

    Args:
        key: the API, of `ApiKeys`.
        asked: the request.

    Raises:
        WorkerError: Kafka's schema of that version refuses the fields.
    """
    name = str(key.messageType.newRequest().getClass().getName())
    mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
    tree = mapper.readTree(msgspec.json.encode(asked.fields).decode())
    try:
        message = java_class(f"{name}JsonConverter").read(tree, asked.version)
        return message, _fields(message, asked.version)
    except java_class("java.lang.RuntimeException") as error:
        said = str(error).partition("\n")[0]
        raise WorkerError(f"{asked.api} {asked.version}: {said}") from error


def with_error_classes(answers: Iterable[WireAnswer]) -> list[WireAnswer]:
    """Add to each answer with an error whether the client library has a retriable exception."""
    return [
        replace(answer, is_retriable=_is_retriable(answer.error_code))
        if answer.error_code
        else answer
        for answer in answers
    ]


@cache
def _is_retriable(code: int) -> bool:
    error = java_class("org.apache.kafka.common.protocol.Errors").forCode(code)
    retriable = java_class("org.apache.kafka.common.errors.RetriableException")
    return isinstance(error.exception(), retriable)


def _fields(message: Any, version: int) -> dict[str, Any]:
    """Return the fields of a message at a version. Of records it has only their size."""
    converter = java_class(f"{message.getClass().getName()}JsonConverter")
    text = str(converter.write(message, version, False).toString())  # noqa: FBT003 - Java's
    found: dict[str, Any] = msgspec.json.decode(text)
    return found
