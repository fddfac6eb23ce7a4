"""Producers in the background: outcomes, transactions, and what is refused before a start."""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from cluster.kafka import distribution
from contract.run_folder import ProducerPlan, TransactionPlan
from contract.software import released
from contract.terms import TransactionStep
from contract.waiting import wait_until
from harness.clients.history import HistoryWriter
from harness.clients.kafka_python_producer import KafkaPythonProducer
from harness.clients.librdkafka_producer import LibrdkafkaProducer
from harness.clients.producers import (
    Answer,
    Opening,
    ProducerClient,
    ProducerSettings,
    SteadyLoad,
    TransactionalLoad,
    TransactionalProducer,
    opening_of,
    produce,
)
from harness.decode.histories import read_histories
from harness.story.settings import producer_problems
from harness.story.workload import writer

BUILD = released("4.4.0")
HALF = TransactionPlan(records=4, aborted=0.5)


class ScriptedProducer(ProducerClient):
    """A producer of which each fifth value is refused, and the steps of `broken` fail once."""

    failures = (OverflowError,)
    definite_failures: ClassVar = frozenset({"Refused"})
    definite_step_failures: ClassVar = frozenset()
    settings = ProducerSettings(idempotent=False, in_flight_max=7)
    opened: ClassVar[list[Opening]] = []
    broken: ClassVar[list[TransactionStep]] = []
    refuses = True

    def __init__(self, opening: Opening) -> None:
        self.opened.append(opening)
        self.steps: list[TransactionStep] = []
        self._offset = 0

    def send(self, topic: str, partition: int, values: Iterable[str]) -> list[Any]:
        assert topic == "orders"
        assert partition in (0, 1)
        return list(values)

    def is_done(self, sent: Any) -> bool:
        return bool(sent)

    def answer(self, sent: Any) -> Answer:
        sequence = int(sent.split(":")[1])
        self._offset += 1
        if self.refuses and sequence % 5 == 4:
            return ("Refused" if sequence % 2 else "Lost"), -1
        return None, self._offset

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def take(self, step: TransactionStep, *arguments: Any) -> None:
        assert not arguments
        if step in self.broken:
            self.broken.remove(step)
            raise OverflowError("broken")

    def error_of(self, failure: BaseException) -> str:
        return type(failure).__name__


class WillingProducer(ScriptedProducer):
    refuses = False


def history_of(folder: Path) -> HistoryWriter:
    return HistoryWriter(folder / "w.jsonl")


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return read_histories(folder).of(table)


def test_each_value_is_intended_and_has_an_outcome(tmp_path: Path) -> None:
    plan = writer("w", "orders", acks="1")
    counts = produce(
        ScriptedProducer(opening_of(plan, "b")),
        plan,
        0,
        sequences=range(10),
        history=history_of(tmp_path),
    )
    assert counts == {"ok": 8, "failed": 1, "unknown": 1, "nothing": 0}
    found = {row["outcome"]: row for row in rows(tmp_path, "sends")}
    assert {row["acks"] for row in found.values()} == {"1"}
    assert found["ok"]["in_flight_max"] == 7
    assert found["ok"]["is_idempotent"] is False


def test_a_steady_load_writes_to_each_partition_in_turn(tmp_path: Path) -> None:
    plan = writer("w", "orders")
    load = SteadyLoad(
        plan,
        [0, 1],
        records_per_second=1000,
        client=WillingProducer(opening_of(plan, "b")),
        history=history_of(tmp_path),
    )
    load.begin()
    wait_until(lambda: all(load.counts().values()), what="both partitions", timeout_seconds=10)
    counts = load.stop()
    assert sum(of["ok"] for of in counts.values()) == len(rows(tmp_path, "sends"))


def transactional(
    plan: ProducerPlan, partitions: list[int], kind: type[ScriptedProducer], folder: Path
) -> TransactionalLoad:
    history = history_of(folder)
    producer = TransactionalProducer(opening_of(plan, "b"), open_producer=kind, history=history)
    assert plan.transactions is not None
    return TransactionalLoad(
        plan,
        partitions,
        plan.transactions,
        records_per_second=1000,
        producer=producer,
        history=history,
    )


def test_a_transactional_load_aborts_its_share_and_opens_again_after_a_failed_step(
    tmp_path: Path,
) -> None:
    plan = replace(writer("w", "orders"), transactions=HALF)
    ScriptedProducer.opened.clear()
    ScriptedProducer.broken[:] = [TransactionStep.COMMIT]
    load = transactional(plan, [0, 1], WillingProducer, tmp_path)
    load.begin()
    wait_until(
        lambda: sum(of.get("ok", 0) for of in load.counts().values()) >= 16,
        what="four transactions",
        timeout_seconds=10,
    )
    load.stop()
    assert [producer.transactional_id for producer in ScriptedProducer.opened] == ["w", "w"]
    steps = [
        (row["transaction"], str(row["step"]), str(row["outcome"]))
        for row in rows(tmp_path, "transactions")
    ]
    assert steps[:9] == [
        (None, "initialize", "ok"),
        (0, "begin", "ok"),
        (0, "commit", "unknown"),
        (0, "initialize", "ok"),
        (1, "begin", "ok"),
        (1, "abort", "ok"),
        (2, "begin", "ok"),
        (2, "commit", "ok"),
        (3, "begin", "ok"),
    ]
    assert {row["transaction"] for row in rows(tmp_path, "sends")} >= {0, 1, 2, 3}


def test_a_transaction_with_a_lost_value_is_aborted(tmp_path: Path) -> None:
    plan = replace(writer("w", "orders"), transactions=TransactionPlan(records=5))
    load = transactional(plan, [0], ScriptedProducer, tmp_path)
    load.begin()
    wait_until(lambda: load.counts()[0].get("ok", 0) >= 8, what="two", timeout_seconds=10)
    load.stop()
    steps = {str(row["step"]) for row in rows(tmp_path, "transactions")}
    assert steps == {"initialize", "begin", "abort"}


@pytest.mark.parametrize(
    ("share", "aborted"),
    [(0, []), (1, [0, 1, 2, 3]), (0.25, [3]), (0.5, [1, 3])],
)
def test_the_aborted_share_is_spread_evenly(share: float, aborted: list[int]) -> None:
    plan = TransactionPlan(records=1, aborted=share)
    assert [number for number in range(4) if plan.is_aborted(number)] == aborted


@pytest.mark.parametrize(
    ("client", "given", "acks", "reported"),
    [
        ("java", {"liger.ms": 5}, "all", "there is no setting liger.ms; the nearest is linger.ms"),
        ("java", {"linger.ms": "x"}, "all", "linger.ms=x has to be a whole number"),
        ("java", {"acks": "1"}, "all", "acks is not for settings: use acks="),
        ("librdkafka", {"request.required.acks": 1}, "all", "is not for settings: use acks="),
        ("java", {"transactional.id": "t"}, "all", "is not for settings: use transactions="),
        ("kafka-python", {"client_id": "t"}, "all", "is not for settings: the harness sets it"),
        ("java", {"linger.ms": "5\n"}, "all", "has a line break"),
        ("librdkafka", {"liger.ms": 5}, "all", "No such configuration property"),
        ("librdkafka", {"enable.idempotence": "true"}, "1", "`acks` must be set to `all`"),
        ("kafka-python", {"enable_idempotence": 1}, "1", "is incompatible with user-provided acks"),
        ("kafka-python", {"liger_ms": 5}, "all", "no setting liger_ms; the nearest is linger_ms"),
        ("kafka-python", {"compression.type": "gzip"}, "all", "nearest is compression_type"),
    ],
)
def test_a_setting_that_a_producer_does_not_take_is_refused(
    client: str, given: dict[str, Any], acks: str, reported: str
) -> None:
    plan = writer("w", "orders", client=client, acks=acks, settings=given)
    ((name, problem),) = producer_problems(plan, BUILD).items()
    assert name in given
    assert reported in problem


@pytest.mark.parametrize(
    ("client", "given"),
    [
        ("librdkafka", {"linger.ms": 7, "compression.type": "zstd", "max.in.flight": 2}),
        ("kafka-python", {"linger_ms": 7, "compression_type": "gzip"}),
    ],
)
def test_known_settings_of_a_producer_are_taken(client: str, given: dict[str, Any]) -> None:
    assert not producer_problems(writer("w", "orders", client=client, settings=given), BUILD)


@pytest.mark.skipif(not distribution.is_fetched("4.4.0"), reason="the jars are not fetched")
@pytest.mark.parametrize(
    ("plan", "reported"),
    [
        (writer("w", "orders", acks="1", settings={"enable.idempotence": "true"}), "Must set acks"),
        (writer("w", "orders", settings={"linger.ms": 9, "compression.type": "zstd"}), ""),
    ],
)
def test_java_itself_is_asked_for_contradictions(plan: ProducerPlan, reported: str) -> None:
    problems = producer_problems(plan, BUILD)
    assert bool(problems) == bool(reported)
    assert reported in " ".join(problems.values())


@pytest.mark.parametrize(
    ("client", "settings", "expected"),
    [
        ("java", {}, 10_000),
        ("java", {"request.timeout.ms": "60000", "delivery.timeout.ms": 90_000}, 60_000),
        ("kafka-python@3.0.5", {}, 10_000),
        ("kafka-python", {"request_timeout_ms": 12_000}, 12_000),
        ("kafka-python", {"request_timeout_ms": "long"}, None),
        ("librdkafka", {"request.timeout.ms": 60_000}, 30_000),
        ("librdkafka", {"message.timeout.ms": 45_000}, 45_000),
        ("librdkafka", {"message.timeout.ms": 5_000, "delivery.timeout.ms": 45_000}, 45_000),
        ("librdkafka", {"message.timeout.ms": 90_000}, 60_000),
        ("librdkafka", {"message.timeout.ms": 0, "socket.timeout.ms": 8_000}, 8_000),
        ("librdkafka", {"message.timeout.ms": 0, "socket.timeout.ms": "long"}, None),
        ("librdkafka", {"message.timeout.ms": "long"}, None),
        ("another", {"request.timeout.ms": 1000}, None),
    ],
)
def test_a_producer_waits_for_its_own_request_timeout(
    client: str, settings: dict[str, str | int], expected: int | None
) -> None:
    plan = writer("w", "orders", client=client, settings=settings)
    assert plan.request_timeout_ms == expected


def test_the_settings_in_force_of_librdkafka_are_known() -> None:
    def of(**settings: Any) -> ProducerSettings:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        opening = Opening(producer="w", bootstrap="127.0.0.1:9", settings=given)
        return LibrdkafkaProducer(opening).settings

    assert of() == ProducerSettings(idempotent=False, in_flight_max=1_000_000)
    assert of(enable_idempotence="true") == ProducerSettings(idempotent=True, in_flight_max=5)
    assert of(max_in_flight=3) == ProducerSettings(idempotent=False, in_flight_max=3)


def test_librdkafka_s_full_queue_is_a_refused_send() -> None:
    opening = Opening(
        producer="w",
        bootstrap="127.0.0.1:9",
        settings={"queue.buffering.max.messages": 1, "linger.ms": 5},
    )
    producer = LibrdkafkaProducer(opening)
    _, second = producer.send("orders", 0, ["a", "b"])
    assert producer.answer(second) == ("_QUEUE_FULL", -1)
    assert "_QUEUE_FULL" in producer.definite_failures


def test_errors_that_each_client_names_exist() -> None:
    errors = importlib.import_module("kafka.errors")
    assert all(hasattr(errors, name) for name in KafkaPythonProducer.definite_failures)
    known = dir(importlib.import_module("confluent_kafka").KafkaError)
    named = LibrdkafkaProducer.definite_failures | LibrdkafkaProducer.definite_step_failures
    assert named <= set(known)
