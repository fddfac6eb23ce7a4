"""A worker's role whose client produces, too."""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import WorkerError
from contract.run_folder import ProducerPlan
from contract.software import PATIENT_DELIVERY_MS, Client
from contract.terms import Outcome
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.member_role import MemberFactory, MemberRole, open_log
from harness.clients.producers import (
    ASK_PRODUCER,
    Counts,
    Load,
    Opening,
    OpenProducer,
    ProducerQuestion,
    SteadyLoad,
    TransactionalLoad,
    TransactionalProducer,
    opening_of,
    produce,
)
from harness.clients.worker import WorkerPlan, run_worker

ASK_SETTINGS = "settings"
"""The argument of a worker's program with which it says what its client refuses of a member."""
_PATIENT = {"delivery_ms": PATIENT_DELIVERY_MS, "block_ms": 60_000}
"""Of a producer whose caller waits for the end."""


class ProducerRole(MemberRole):
    """Producers and consumers of one client, several at a time."""

    def __init__(
        self,
        plan: WorkerPlan,
        history: HistoryWriter,
        *,
        open_producer: OpenProducer,
        **of_members: Any,
    ) -> None:
        """`of_members` are arguments of `MemberRole`."""
        super().__init__(plan, history, **of_members)
        self._open_producer = open_producer
        self._loads: dict[str, Load] = {}

    @command
    def produce(
        self,
        plan: ProducerPlan,
        partition: int,
        *,
        sequence_first: int,
        count: int,
        bootstrap: str | None = None,
    ) -> dict[Outcome, int]:
        """Send `count` values with a new producer and wait until each has an outcome.

        `bootstrap`: `bootstrap.servers`; None: the worker's own. Returns the count of each outcome.
        """
        opening = opening_of(plan, bootstrap or self._plan.bootstrap)
        return produce(
            self._open_producer(msgspec.structs.replace(opening, **_PATIENT)),
            plan,
            partition,
            sequences=range(sequence_first, sequence_first + count),
            history=self._history,
        )

    @command
    def start_producer(
        self, plan: ProducerPlan, partitions: list[int], *, records_per_second: int
    ) -> None:
        """Send values at a fixed rate, to each partition in turn, until `stop_producer`.

        A value without an outcome within `delivery.timeout.ms` is unknown.
        """
        opening = opening_of(plan, self._plan.bootstrap)
        load: Load
        if plan.transactions is None:
            load = SteadyLoad(
                plan,
                partitions,
                records_per_second=records_per_second,
                client=self._open_producer(opening),
                history=self._history,
            )
        else:
            load = TransactionalLoad(
                plan,
                partitions,
                plan.transactions,
                records_per_second=records_per_second,
                producer=TransactionalProducer(
                    opening, open_producer=self._open_producer, history=self._history
                ),
                history=self._history,
            )
        self._loads[plan.producer] = load
        load.begin()

    @command
    def count_produced(self, producer: str) -> Counts:
        """Return the number of a started producer's values so far."""
        return self._load(producer).counts()

    @command
    def count_all_produced(self) -> dict[str, Counts]:
        """Return the number of values so far of each producer that is started."""
        return {name: load.counts() for name, load in self._loads.items()}

    @command
    def stop_producer(self, producer: str) -> Counts:
        """Stop sending, wait for all outcomes, close the producer; returns their numbers."""
        counts = self._load(producer).stop()
        del self._loads[producer]
        return counts

    def close(self) -> None:
        """Close everything that is still open."""
        for load in self._loads.values():
            load.stop()
        super().close()

    def _load(self, producer: str) -> Load:
        try:
            return self._loads[producer]
        except KeyError:
            raise WorkerError(f"no producer {producer} was started here") from None


def serve_client(
    client: Client,
    *,
    client_version: str,
    factory: Callable[[logging.Handler], MemberFactory],
    refused: Callable[[Mapping[str, Any]], dict[str, str]],
    open_producer: OpenProducer,
    refusal: Callable[[Opening], str],
) -> None:
    """The main program of a worker whose members and producers use one client.

    Its argument is the worker's plan, which it serves. With two arguments, ASK_SETTINGS and
    settings as JSON, it only prints the settings that the client refuses of a member; with
    ASK_PRODUCER and a `ProducerQuestion`, why it refuses a producer.

    Args:
        client: that members and producers use.
        client_version: of the installed client.
        factory: makes the function that opens a member, given the handler of the client's log.
        refused: returns the settings of a member that the client refuses, each with its reason.
        open_producer: opens a producer.
        refusal: returns why the client refuses a producer; empty if it does not.
    """
    if sys.argv[1] == ASK_SETTINGS:
        print(json.dumps(refused(json.loads(sys.argv[2]))))
        return
    if sys.argv[1] == ASK_PRODUCER:
        question = msgspec.json.decode(sys.argv[2], type=ProducerQuestion)
        print(json.dumps(refusal(question.opening)))
        return
    run_worker(
        lambda plan, history: ProducerRole(
            plan,
            history,
            client=client,
            client_version=client_version,
            make_member=factory(open_log(Path(plan.log))),
            open_producer=open_producer,
        )
    )
