"""The trace tables, one Parquet file each below `tables/` of a run's folder.

The collector writes them with these schemas, sorted by topic, partition, offset where they have
these columns; the analysis declares the same ones for Spark, and a test holds both equal.
Times are microseconds since 1970 on the node's clock (`*_micros`); leader epochs are -1 where
Kafka has none.
"""

import pyarrow as pa

MICROS_PER_SECOND = 1_000_000

_STRING, _INT, _LONG, _BOOL = pa.string(), pa.int32(), pa.int64(), pa.bool_()
_INTS = pa.list_(pa.int32())
_PARTITION = {"topic": _STRING, "partition": _INT}
_REPLICA = {"broker": _INT, **_PARTITION}
_MEMBER = {"worker": _STRING, "group": _STRING, "member": _STRING}


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in columns.items()])


TABLES: dict[str, pa.Schema] = {
    # One row per value that a producer tried to send. `offset` is null unless acknowledged.
    # `is_idempotent` and `in_flight_max` are the producer's settings, null where not known.
    "sends": _schema(
        worker=_STRING,
        producer=_STRING,
        sequence=_LONG,
        value=_STRING,
        **_PARTITION,
        offset=_LONG,
        acks=_STRING,
        outcome=_STRING,
        error=_STRING,
        intended_micros=_LONG,
        answered_micros=_LONG,
        transaction=_INT,
        is_idempotent=_BOOL,
        in_flight_max=_INT,
    ),
    # One row per step of a transactional producer, and per description by the coordinator
    # (`producer` is empty there). `producer_id` and `producer_epoch` are -1 where not known.
    "transactions": _schema(
        worker=_STRING,
        producer=_STRING,
        transactional_id=_STRING,
        transaction=_INT,
        step=_STRING,
        change=_STRING,
        producer_id=_LONG,
        producer_epoch=_INT,
        state=_STRING,
        outcome=_STRING,
        error=_STRING,
        seq=_LONG,
        began_micros=_LONG,
        at_micros=_LONG,
    ),
    # One row per record delivered to a consumer. `position_in_poll` orders rows of one poll.
    "polls": _schema(
        **_MEMBER,
        **_PARTITION,
        offset=_LONG,
        leader_epoch=_INT,
        value=_STRING,
        is_intact=_BOOL,
        seq=_LONG,
        position_in_poll=_INT,
        polled_micros=_LONG,
    ),
    # One row per commit that a client made, or would have made: with outcome `nothing` the client
    # had no valid position to commit. The epochs beside the committed one are those that the client
    # and the cluster had when it began, `*_after` when it ended; -1 where not known.
    "commits": _schema(
        **_MEMBER,
        **_PARTITION,
        offset=_LONG,
        committed_epoch=_INT,
        commit_epoch=_STRING,
        record_epoch=_INT,
        position_epoch=_INT,
        metadata_epoch=_INT,
        cluster_epoch=_INT,
        position_epoch_after=_INT,
        metadata_epoch_after=_INT,
        generation=_INT,
        outcome=_STRING,
        error=_STRING,
        seq=_LONG,
        committed_micros=_LONG,
        began_micros=_LONG,
    ),
    # One row per offset commit record in __consumer_offsets (union of all replicas, deduplicated);
    # `brokers` are those whose replica holds it at the end, null where not known.
    # One of a transaction (`is_transactional`, null in older runs) may have been aborted later.
    "committed_offsets": _schema(
        group=_STRING,
        **_PARTITION,
        offset=_LONG,
        committed_epoch=_INT,
        metadata=_STRING,
        is_tombstone=_BOOL,
        offsets_partition=_INT,
        offsets_offset=_LONG,
        committed_micros=_LONG,
        producer_id=_LONG,
        producer_epoch=_INT,
        marker=_STRING,
        brokers=_INTS,
    ),
    # One row per change of a group's member; `failed` rows carry the exception. `generation` is the
    # group's generation, or the member epoch with the consumer protocol; -1 where not known.
    "group_events": _schema(
        **_MEMBER,
        change=_STRING,
        **_PARTITION,
        position=_LONG,
        position_epoch=_INT,
        exception=_STRING,
        message=_STRING,
        divergent_offset=_LONG,
        divergent_epoch=_INT,
        generation=_INT,
        seq=_LONG,
        at_micros=_LONG,
    ),
    # One row per reset in a client's own log, with its cause (truncation, out_of_range,
    # no_commit). `to_offset` is null where the client raised instead.
    "resets": _schema(
        **_MEMBER,
        **_PARTITION,
        cause=_STRING,
        policy=_STRING,
        from_offset=_LONG,
        from_epoch=_INT,
        to_offset=_LONG,
        to_epoch=_INT,
        log_line=_STRING,
        at_micros=_LONG,
    ),
    # One row per change of a partition in the metadata log (PartitionRecord,
    # PartitionChangeRecord): the state after it. `leader` is -1 where there is none; `topic_id`
    # distinguishes successive topics of one name, null where not known.
    "leaderships": _schema(
        **_PARTITION,
        leader=_INT,
        leader_epoch=_INT,
        partition_epoch=_INT,
        replicas=_INTS,
        isr=_INTS,
        elr=_INTS,
        metadata_offset=_LONG,
        metadata_epoch=_INT,
        at_micros=_LONG,
        topic_id=_STRING,
    ),
    # One row per change of a broker's registration in the metadata log (RegisterBrokerRecord,
    # BrokerRegistrationChangeRecord, UnregisterBrokerRecord, and the older FenceBrokerRecord and
    # UnfenceBrokerRecord): the state after it. An unregistered broker counts as fenced.
    "broker_states": _schema(
        broker=_INT,
        broker_epoch=_LONG,
        is_fenced=_BOOL,
        in_controlled_shutdown=_BOOL,
        metadata_offset=_LONG,
        at_micros=_LONG,
    ),
    # One row per batch in a replica's segments at the end of the run.
    "replica_batches": _schema(
        **_REPLICA,
        base_offset=_LONG,
        last_offset=_LONG,
        leader_epoch=_INT,
        producer_id=_LONG,
        producer_epoch=_INT,
        base_sequence=_INT,
        is_control=_BOOL,
        is_transactional=_BOOL,
        record_count=_INT,
        size_bytes=_LONG,
        max_timestamp_micros=_LONG,
        control_type=_STRING,
        checksum=_LONG,
    ),
    # One row per data record in a replica's segments at the end of the run.
    "replica_records": _schema(**_REPLICA, offset=_LONG, leader_epoch=_INT, value=_STRING),
    # One row per line of a replica's leader-epoch-checkpoint at the end of the run.
    "epoch_checkpoints": _schema(**_REPLICA, leader_epoch=_INT, start_offset=_LONG),
    # One row per replica: its bounds at the end of the run.
    "log_starts": _schema(
        **_REPLICA, log_start_offset=_LONG, log_end_offset=_LONG, high_watermark_checkpoint=_LONG
    ),
    # One row per batch in a server's metadata log at the end of the run; `leader` where the
    # batch records an election among the controllers.
    "metadata_batches": _schema(
        server=_INT,
        base_offset=_LONG,
        last_offset=_LONG,
        metadata_epoch=_INT,
        size_bytes=_LONG,
        checksum=_LONG,
        leader=_INT,
        at_micros=_LONG,
    ),
    # One row per truncation of a replica that its server logged.
    "truncations": _schema(**_REPLICA, to_offset=_LONG, at_micros=_LONG, log_line=_STRING),
    # One row per epoch that a replica began to lead, as its server logged it: exact also where
    # retention has removed the epoch since.
    "leader_epoch_starts": _schema(
        **_REPLICA, leader_epoch=_INT, start_offset=_LONG, at_micros=_LONG, log_line=_STRING
    ),
    # One row per advance of a replica's log start that its server logged, with the reason it gave.
    "log_start_changes": _schema(
        **_REPLICA, log_start_offset=_LONG, reason=_STRING, at_micros=_LONG, log_line=_STRING
    ),
    # One row per fault that was injected; evidence is JSON. Effects may show from `injected_micros`
    # on, before the proof; they may last until `healed_micros`, after the heal began.
    "faults": _schema(
        fault=_STRING,
        target=_STRING,
        landed=_BOOL,
        injected_micros=_LONG,
        proved_micros=_LONG,
        heal_began_micros=_LONG,
        healed_micros=_LONG,
        evidence=_STRING,
        forced_ms=_LONG,
        forced_by=_STRING,
    ),
    # One row per phase of the run; the last one ends with the driver's history.
    "phases": _schema(
        stage=_STRING, doing=_STRING, began_micros=_LONG, ended_micros=_LONG, limit_seconds=_INT
    ),
    # One row per wait of the driver for a state of the cluster.
    "waits": _schema(what=_STRING, began_micros=_LONG, ended_micros=_LONG),
    # One row per response of a broker to the observer.
    "samples": _schema(
        **_REPLICA,
        leader=_INT,
        leader_epoch=_INT,
        isr=_INTS,
        log_start_offset=_LONG,
        log_end_offset=_LONG,
        at_micros=_LONG,
        asked_micros=_LONG,
    ),
    # One row per reading of a node's wall clock: how far it was ahead of the driver's, at most and
    # at least (negative where it was behind).
    "clocks": _schema(node=_STRING, ahead_micros=_LONG, behind_micros=_LONG, at_micros=_LONG),
    # One row per history file: the reader's counts. `malformed_at` names the first few
    # malformed lines as file:line.
    "histories": _schema(
        worker=_STRING,
        role=_STRING,
        client=_STRING,
        client_version=_STRING,
        events=_LONG,
        missing_seqs=_LONG,
        torn_lines=_LONG,
        malformed_lines=_LONG,
        malformed_at=_STRING,
        ended_by_itself=_BOOL,
        duplicate_lines=_LONG,
        unknown_fields=_LONG,
        clock_jump_micros=_LONG,
    ),
    # One row per folder of a server that was collected; `server` is null where its name is none.
    "servers": _schema(
        name=_STRING, server=_INT, log_lines=_LONG, replicas=_INT, ignored_files=_INT
    ),
    # One row per batch that a replica held when a fault on its server ended, and that is neither
    # there at the end, nor deleted by retention.
    "cut_batches": _schema(
        **_REPLICA,
        base_offset=_LONG,
        last_offset=_LONG,
        leader_epoch=_INT,
        record_count=_INT,
        size_bytes=_LONG,
        taken_micros=_LONG,
    ),
    # One row per data record of these batches.
    "cut_records": _schema(
        **_REPLICA, offset=_LONG, leader_epoch=_INT, value=_STRING, taken_micros=_LONG
    ),
    # One row per segment that could not be read to its end; `error` is null where only the last
    # batch is incomplete, as a killed server leaves it.
    "unread_segments": _schema(
        **_REPLICA, segment=_STRING, position_bytes=_LONG, unread_bytes=_LONG, error=_STRING
    ),
}

LATER: dict[str, tuple[str, ...]] = {
    "sends": ("is_idempotent", "in_flight_max"),
    "commits": (
        "position_epoch",
        "metadata_epoch",
        "cluster_epoch",
        "position_epoch_after",
        "metadata_epoch_after",
        "generation",
    ),
    "committed_offsets": ("brokers",),
    "group_events": ("generation",),
    "leaderships": ("topic_id",),
    "histories": ("malformed_at",),
    "leader_epoch_starts": (),
    "log_start_changes": (),
}
"""Columns, and whole tables (without any), that runs of earlier releases do not have."""
