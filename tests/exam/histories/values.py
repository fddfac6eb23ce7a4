"""Histories about values: written twice, never sent, damaged, refused and written all the same."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import consumed, copies, killed, returned, started, written
from tests.exam.transaction_verbs import Batch, replicas
from tests.exam.verbs import begun, cluster, joined, left, watched

RETRIES = "ProducerStateManager: an append with a known sequence number is answered, not repeated"


def twice(h: History, *, is_idempotent: bool | None) -> None:
    """Values 40 to 49 lie at offsets 40 to 49, and at 50 to 59 as well; each was told once."""
    h.topic()
    h.led(1, 0, at=0.5, isr=[1, 2], starts=0)
    settings = {"is_idempotent": is_idempotent, "in_flight_max": 5}
    h.sent(0, 39, at=2, **settings)
    h.sent(50, 59, at=4, intended_at=2.5, sequence=40, **settings)
    h.sampled(1, at=5, end=60, isr=[1, 2])
    h.group()
    started(h, 0, at=6, fresh=True)
    h.polled(0, 49, at=7)
    h.polled(50, 59, at=8, sequence=40)
    h.changed("caught_up", at=9, position=60)
    h.commit(60, 0, at=10)
    h.changed("closed", at=11)
    copies(h, (1, 2), (0, 49, 0), (50, 59, 0), sequences={50: 40}, high_watermark=60)


@asks(
    "An idempotent producer's values are in the log twice.",
    source="KIP-98: idempotence writes each record of a session once",
    expects={"duplicate_append": VIOLATION, "lost_record": NONE, "inconsistent_offset": NONE},
)
def appended_twice_with_idempotence(h: History) -> None:
    twice(h, is_idempotent=True)


@asks(
    "A producer without idempotence retries, and its values are in the log twice.",
    source="ProducerConfig enable.idempotence=false: retries may write duplicates",
    expects={
        "duplicate_append": PERMITTED,
        "duplicate_delivery": PERMITTED,
        "lost_record": NONE,
        "outcome_mismatch": NONE,
        "log_divergence": NONE,
    },
)
def appended_twice_without_idempotence(h: History) -> None:
    twice(h, is_idempotent=False)


@asks(
    "Nobody knows whether the producer whose values are in the log twice was idempotent.",
    # Batches without a producer id (RecordBatch.NO_PRODUCER_ID) were not written idempotently.
    source="RecordBatch.NO_PRODUCER_ID; KIP-98: without idempotence a retry may append again",
    expects={"duplicate_append": PERMITTED},
)
def appended_twice_by_an_unknown_producer(h: History) -> None:
    twice(h, is_idempotent=None)


@asks(
    "The values are in the log twice, under producer id 0; its settings are not known.",
    source="ProducerIdManager: the first id of a cluster is 0, and none is -1; KIP-98",
    expects={"duplicate_append": VIOLATION},
)
def appended_twice_under_the_first_producer_id(h: History) -> None:
    twice(h, is_idempotent=None)
    for batch in h.rows["replica_batches"]:
        batch.update(producer_id=0, producer_epoch=0)


@asks(
    "The values are in the log twice, the second time under a newer epoch of the producer.",
    source="KIP-360: a producer that bumps its epoch sends again what it does not know to be "
    "written",
    expects={"duplicate_append": UNDECIDED},
)
def appended_again_under_a_newer_producer_epoch(h: History) -> None:
    twice(h, is_idempotent=True)
    for batch in h.rows["replica_batches"]:
        batch.update(producer_id=h.place.producer_id(7), producer_epoch=batch["base_offset"] // 50)


@asks(
    "One value lies on an abandoned branch and, sent again, on the surviving one.",
    source="KIP-101: the abandoned branch is truncated, so that the log has the value once",
    expects={"duplicate_append": NONE, "lost_record": NONE, "log_divergence": NONE},
)
def appended_again_on_another_branch(h: History) -> None:
    # The leader took the retried batch, died before anybody fetched it, and was truncated.
    written(h)
    killed(h, 1, at=10, healed=30)
    h.led(2, 1, at=13, isr=[2], starts=100)
    settings = {"is_idempotent": True, "in_flight_max": 5}
    h.sent(110, 119, at=14, intended_at=9.9, sequence=100, **settings)
    h.sent(100, 109, at=13.8, sequence=500, producer="other", **settings)
    h.sampled(2, at=15, end=120, epoch=1, isr=[2])
    h.cut(1, 100, 109, 0, at=29)
    returned(h, 1, at=30)
    h.truncated(1, 100, at=31)
    h.led(2, 1, at=33, isr=[2, 1])
    h.sampled(2, at=40, end=120, epoch=1, isr=[2, 1])
    copies(
        h,
        (1, 2),
        (0, 99, 0),
        (100, 109, 1),
        (110, 119, 1),
        producers={100: "other"},
        sequences={100: 500, 110: 100},
        high_watermark=120,
    )


def reordered(h: History, *, is_idempotent: bool | None, in_flight: int | None) -> None:
    """A first batch (values 50 to 59) is retried and lands behind the second (60 to 69)."""
    h.topic()
    h.led(1, 0, at=0.5, isr=[1, 2], starts=0)
    settings = {"is_idempotent": is_idempotent, "in_flight_max": in_flight}
    h.sent(0, 49, at=2, **settings)
    h.sent(60, 69, at=4.2, intended_at=3.0, sequence=50, **settings)
    h.sent(50, 59, at=3.5, intended_at=3.1, sequence=60, **settings)
    h.sampled(1, at=5, end=70, isr=[1, 2])
    spans = ((0, 49, 0), (50, 59, 0), (60, 69, 0))
    copies(h, (1, 2), *spans, sequences={50: 60, 60: 50}, high_watermark=70)


@asks(
    "A producer without idempotence, five requests in flight, is reordered by a retry.",
    source="ProducerConfig max.in.flight.requests.per.connection: above 1, without idempotence, "
    "retries may reorder",
    expects={"nonmonotonic_send": PERMITTED, "duplicate_append": NONE, "lost_record": NONE},
)
def reordered_without_idempotence(h: History) -> None:
    reordered(h, is_idempotent=False, in_flight=5)


@asks(
    "A producer without idempotence, one request in flight, is reordered.",
    source="ProducerConfig max.in.flight.requests.per.connection=1 keeps the order",
    expects={"nonmonotonic_send": VIOLATION},
)
def reordered_with_one_in_flight(h: History) -> None:
    reordered(h, is_idempotent=False, in_flight=1)


@asks(
    "An idempotent producer with five requests in flight is reordered.",
    source="ProducerConfig enable.idempotence: order is kept with up to five in flight",
    expects={"nonmonotonic_send": VIOLATION, "duplicate_append": NONE},
)
def reordered_with_idempotence(h: History) -> None:
    reordered(h, is_idempotent=True, in_flight=5)


@asks(
    "A producer whose settings nobody recorded is reordered.",
    source="contract/tables_of_clients.py: settings are null where not known; ProducerConfig "
    "max.in.flight.requests.per.connection: some allow it, others do not",
    expects={"nonmonotonic_send": NOT_VIOLATION},
)
def reordered_by_an_unknown_producer(h: History) -> None:
    reordered(h, is_idempotent=None, in_flight=None)


@asks(
    "A group gets a value that nobody sent.",
    source="contract/events.py: SendsIntended is written before the values are sent",
    expects={
        "phantom_record": f"{VIOLATION}: phantom: no producer intended this value",
        "corrupted_record": NONE,
    },
)
def value_that_nobody_sent(h: History) -> None:
    stranger(h)


@asks(
    "A group gets a value that was sent to another partition.",
    source="ProducerRecord.partition: the record is sent to that partition, and to no other",
    expects={"phantom_record": VIOLATION, "corrupted_record": NONE},
)
def value_that_was_sent_to_another_partition(h: History) -> None:
    written(h, partitions=2)
    h.led(1, 0, at=0.5, isr=(1, 2), starts=0, partition=1)
    h.sent(0, 9, at=2, sequence=500, partition=1)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 89, at=6)
    h.polled(90, 99, at=7, sequence=500)
    h.changed("closed", at=10)
    copies(h, (1, 2), (0, 99, 0), sequences={90: 500}, high_watermark=100)
    copies(h, (1, 2), (0, 9, 0), sequences={0: 500}, high_watermark=10, partition=1)


@asks(
    "A transaction's values are in the log in another order than they were sent.",
    source="KIP-98: a transactional producer is idempotent, and keeps the order of a partition",
    expects={"nonmonotonic_send": VIOLATION},
)
def reordered_within_a_transaction(h: History) -> None:
    h.topic()
    h.led(1, 0, at=0.5, isr=(1, 2), starts=0)
    h.sent(10, 19, at=3, sequence=0, transaction=1, intended_at=1.5)
    h.sent(0, 9, at=2.5, sequence=10, transaction=1)
    h.sampled(1, at=5, end=20)
    copies(h, (1, 2), (0, 9, 0), (10, 19, 0), sequences={0: 10, 10: 0}, high_watermark=20)


@asks(
    "A group gets a value of a producer whose history lacks lines.",
    source="contract/tables_of_run.py, histories.missing_seqs: sends may be among the lines "
    "that are missing",
    expects={"phantom_record": NOT_VIOLATION, "corrupted_record": NOT_VIOLATION},
    alone=True,
)
def value_whose_send_was_not_recorded(h: History) -> None:
    stranger(h)
    h.worker(missing_seqs=3)


def stranger(h: History) -> None:
    """Offset 100 holds value 900, of which no send is known."""
    written(h)
    h.sampled(1, at=4, end=101, isr=[1, 2])
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 99, at=6)
    h.polled(100, at=7, sequence=900)
    h.changed("caught_up", at=8, position=101)
    h.commit(101, 0, at=9)
    h.changed("closed", at=10)
    spans = ((0, 99, 0), (100, 100, 0))
    copies(h, (1, 2), *spans, sequences={100: 900}, high_watermark=101)


@asks(
    "A group gets values whose send timed out, and values whose outcome was never recorded.",
    source="contract/outcomes.py: unknown may have been written; a producer that was killed "
    "leaves no outcome",
    expects={
        "phantom_record": NONE,
        "outcome_mismatch": NONE,
        "lost_record": NONE,
        "resurrected_record": NONE,
        "corrupted_record": NONE,
    },
)
def values_of_unknown_outcome(h: History) -> None:
    written(h, 80)
    h.sent(
        None,
        count=10,
        at=35,
        intended_at=4,
        sequence=80,
        outcome="unknown",
        error="TimeoutException",
    )
    h.sent(None, count=10, at=5, sequence=90, outcome="unknown")
    for row in h.rows["sends"][-10:]:
        row["answered_micros"] = None
    h.sampled(1, at=6, end=100, isr=[1, 2])
    h.group()
    consumed(h, 0, 99, at=40)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A delivered value does not match its checksum.",
    source="contract/events.py: the checksum is part of the value",
    expects={"corrupted_record": f"{VIOLATION}: corrupted: the value's checksum does not match"},
)
def value_arrives_damaged(h: History) -> None:
    written(h)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 49, at=6)
    h.polled(50, at=6.2, is_intact=False)
    value = h.value(50)
    h.rows["polls"][-1]["value"] = value[:-1] + ("0" if value[-1] != "0" else "1")
    h.polled(51, 99, at=6.4)
    h.changed("caught_up", at=8, position=100)
    h.commit(100, 0, at=9)
    h.changed("closed", at=10)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A killed broker's newest segment ends within a batch; everything delivered is whole.",
    source="contract/tables_of_run.py, unread_segments: error is null where a server was killed "
    "within its last batch",
    expects={
        "corrupted_record": NONE,
        "lost_record": NONE,
        "phantom_record": NONE,
        "log_divergence": NONE,
    },
)
def torn_batch_of_a_killed_broker(h: History) -> None:
    written(h)
    h.group()
    consumed(h, 0, 99, at=5)
    killed(h, 2, at=20)
    h.led(1, 0, at=23, isr=[1])
    h.sampled(1, at=30, end=100, isr=[1])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    h.add(
        "unread_segments",
        broker=h.broker(2),
        topic=h.own("t"),
        partition=0,
        segment="00000000000000000000.log",
        position_bytes=10_000,
        unread_bytes=37,
    )


def refused(h: History, error: str, *, is_in_log: bool = True) -> None:
    """Ten sends end with an error; their values are at offsets 100 to 109, or in no log."""
    is_short = error.startswith("NotEnoughReplicas")
    written(h, min_insync=2 if is_short else 1)
    if is_short:
        h.led(1, 0, at=8.5, isr=[1], elr=[2])
    h.sent(None, count=10, at=10, intended_at=8, sequence=100, outcome="failed", error=error)
    if is_short:
        h.led(1, 0, at=10.5, isr=[1, 2])
    end = 110 if is_in_log else 100
    h.sampled(1, at=11, end=end, isr=[1, 2])
    h.group()
    consumed(h, 0, end - 1, at=12)
    spans = [(0, 99, 0)] + ([(100, 109, 0)] if is_in_log else [])
    copies(h, (1, 2), *spans, high_watermark=end)


@asks(
    "A client says that records were too large to be sent; they are in the log.",
    source="RecordTooLargeException: the record is refused before it is appended",
    expects={"outcome_mismatch": VIOLATION, "phantom_record": NONE, "lost_record": NONE},
)
def too_large_but_written(h: History) -> None:
    refused(h, "RecordTooLargeException")


@asks(
    "A client calls a send failed because too few replicas were in sync after the append.",
    source="NotEnoughReplicasAfterAppendException: the record was appended before the ISR shrank",
    expects={"outcome_mismatch": UNDECIDED, "phantom_record": NONE},
)
def failed_after_the_append(h: History) -> None:
    refused(h, "NotEnoughReplicasAfterAppendException")


@asks(
    "A client calls a send failed that timed out; the records are in the log.",
    source="org.apache.kafka.common.errors.TimeoutException: tells nothing about the append",
    expects={"outcome_mismatch": UNDECIDED, "phantom_record": NONE},
)
def timed_out_and_called_failed(h: History) -> None:
    refused(h, "TimeoutException")


@asks(
    "The last attempt of a send is refused for want of replicas; an earlier one was appended.",
    source="Partition.appendRecordsToLeader checks the ISR before it looks for a duplicate: the "
    "retry of a batch that was appended, and whose answer was lost, is refused too",
    # The issue and outcomes.py call this error a sure failure; for a retried batch it is none.
    expects={"outcome_mismatch": NOT_VIOLATION, "phantom_record": NONE},
)
def refused_retry_of_an_appended_batch(h: History) -> None:
    refused(h, "NotEnoughReplicasException")


@asks(
    "Sends are refused, and the log does not hold them.",
    source="contract/outcomes.py: failed, it definitely did not happen",
    expects={"outcome_mismatch": NONE, "lost_record": NONE, "unseen_record": NONE},
)
def refused_and_not_written(h: History) -> None:
    refused(h, "RecordTooLargeException", is_in_log=False)


@asks_each(
    "A send failed, and its record is in the log.",
    source="contract/outcomes.py: failed, it definitely did not happen; unknown, the "
    "response leaves"
    " both possible",
    check="outcome_mismatch",
    cases={
        "Its error says that it never left the client.": (
            VIOLATION,
            {"error": "RecordTooLargeException"},
        ),
        "The client reported no error.": (UNDECIDED, {}),
        "It timed out.": (UNDECIDED, {"error": "TimeoutException"}),
        "Its outcome is unknown.": (NONE, {"outcome": "unknown"}),
        "It was of a transaction.": (NONE, {"transaction": 1}),
    },
)
def failed_send_in_the_log(
    h: History,
    *,
    outcome: str = "failed",
    error: str | None = None,
    transaction: int | None = None,
) -> None:
    h.topic()
    cluster(h)
    h.sent(0, 98, at=2)
    h.sent(None, at=3, sequence=99, outcome=outcome, error=error, transaction=transaction)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Two values of a transaction stand in the other order; the first one is below the log start.",
    source="KIP-98; decision 15: below the log start it is not known whether it was truncated",
    expects={"nonmonotonic_send": UNDECIDED},
)
def reordered_within_a_transaction_and_expired(h: History) -> None:
    h.topic(deletes=True)
    h.led(1, 0, at=0.5, isr=(1, 2), starts=0)
    h.sent(9, at=3, sequence=0, transaction=1, intended_at=1.5)
    h.sent(5, at=2.5, sequence=1, transaction=1)
    h.sampled(1, at=5, end=20)
    copies(h, (1, 2), (10, 19, 0), start=10, high_watermark=20)


@asks(
    "A producer whose settings nobody recorded is reordered; it asks for acks=1.",
    source="enable.idempotence requires acks=all",
    expects={"nonmonotonic_send": PERMITTED},
)
def reordered_by_an_unknown_producer_of_acks_one(h: History) -> None:
    reordered(h, is_idempotent=None, in_flight=None)
    for row in h.rows["sends"]:
        row["acks"] = "1"


@asks(
    "A later leader appends again what the one before it had appended under one producer epoch.",
    source=RETRIES + "; the producer's state is replicated with the log",
    expects={"duplicate_append": VIOLATION, "lost_record": NONE, "leader_completeness": NONE},
)
def new_leader_forgets_a_sequence_number(h: History) -> None:
    _appended_twice(h, Batch(5, 9, epoch=1, pid=1, base_sequence=0, sequence=0))


@asks(
    "A send is appended, its response is lost, and the retry is refused by a small ISR.",
    source="ReplicaManager.appendRecords: the refused attempt may follow one that was appended",
    expects={"outcome_mismatch": UNDECIDED, "phantom_record": NONE, "min_insync_breached": NONE},
)
def refusal_follows_an_append(h: History) -> None:
    h.topic(min_insync=2)
    h.group()
    begun(h)
    h.sent(0, 9, at=2.0)
    h.led(1, 0, at=6.0, isr=(1,))
    h.sent(
        None,
        at=12.0,
        intended_at=5.0,
        sequence=10,
        outcome="failed",
        error="NotEnoughReplicasException",
    )
    h.led(1, 0, at=14.0, isr=(1, 2))
    watched(h, 1, 11, times=(15.0, 45.0, 85.0))
    copies(h, (1, 2), (0, 9, 0), (10, 10, 0), high_watermark=11)
    joined(h, 0, at=20.0)
    h.polled(0, 10, at=21.0)
    h.changed("caught_up", at=40.0, position=11, generation=1)
    left(h, 11, at=80.0)


def _appended_twice(h: History, again: Batch) -> None:
    """An idempotent producer repeats a batch whose response was lost."""
    h.topic()
    h.group()
    begun(h)
    watched(h, 1, 5, times=(8.0,))
    if again.epoch:
        h.led(2, 1, at=9.0, isr=(1, 2), starts=5)
    leader = 2 if again.epoch else 1
    watched(h, leader, 10, times=(15.0, 45.0, 85.0), epoch=again.epoch)
    first = Batch(0, 4, pid=1, base_sequence=0, is_transactional=False)
    plain_again = Batch(**(vars(again) | {"is_transactional": False}))
    replicas(h, first, plain_again)
    h.sent(5, 9, at=12.0, intended_at=6.0, sequence=0, is_idempotent=True, in_flight_max=5)
    joined(h, 0, at=20.0)
    h.polled(0, 4, at=21.0)
    h.polled(5, 9, at=21.1, sequence=0, epoch=again.epoch)
    h.changed("caught_up", at=40.0, position=10, generation=1)
    left(h, 10, at=80.0)
