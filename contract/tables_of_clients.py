"""The trace tables of producers and consumers: what they sent, received and committed."""

from contract.table_columns import (
    MEMBER,
    PARTITION,
    RANGE,
    WORKER,
    boolean,
    int32,
    int32s,
    int64,
    string,
    table,
)

_ERROR = string("error", "simple name of the client's exception")
_SEQ = int64("seq", "of the event in its history")
_GENERATION = int32(
    "generation", "of the group, or the member epoch with the consumer protocol; -1 where not known"
)

TABLES_OF_CLIENTS = {
    "sends": table(
        "One row per range of values that a producer set out to send. Offsets are null unless the"
        " values are acknowledged. Source: producers' histories.",
        WORKER,
        *RANGE,
        *PARTITION,
        string("acks"),
        string("outcome", "ok, failed (certainly not written) or unknown"),
        _ERROR,
        int64("intended_micros", "null if that line is missing"),
        int64("answered_micros", "null without an outcome"),
        int32(
            "transaction", "the producer's number of its transaction, from 0; null outside of one"
        ),
        boolean("is_idempotent", "`enable.idempotence` of the producer; null where not known"),
        int32(
            "in_flight_max",
            "its `max.in.flight.requests.per.connection`; null where not known",
        ),
    ),
    "transactions": table(
        "One row per step of a transactional producer, and per response of a coordinator to a"
        " describe request. Source: the producers' and the observer's histories.",
        WORKER,
        string("producer", "empty in a row of the coordinator"),
        string("transactional_id"),
        int32(
            "transaction", "the producer's number of its transaction, from 0; null before the first"
        ),
        string("step", "initialize, begin, send_offsets, commit, abort, describe"),
        string(
            "change",
            "initialized, begun, offsets_sent, committed, aborted, described; fenced, failed",
        ),
        int64("producer_id", "in force after the step; -1 where the client does not report it"),
        int32(
            "producer_epoch",
            "the same; with transaction.version=2 it increases at each end of a transaction"
            " (KIP-890)",
        ),
        string("state", "of the transaction, in Kafka's words; empty except for describe"),
        string("outcome", "ok, failed (certainly not done) or unknown"),
        _ERROR,
        _SEQ,
        int64("began_micros", "when the step began"),
        int64("at_micros", "when the step ended"),
    ),
    "polls": table(
        "One row per range of records that one poll returned. Source: consumers' histories.",
        *MEMBER,
        *PARTITION,
        *RANGE,
        int32("leader_epoch"),
        boolean("is_intact", "the checksums of the values are correct"),
        _SEQ,
        int32(
            "first_place",
            "of the first record, among those that the poll returned of the partition; from 0",
        ),
        int64("polled_micros"),
    ),
    "commits": table(
        "One row per commit of a client, including those with nothing to commit. Source: consumers'"
        " histories.",
        *MEMBER,
        *PARTITION,
        int64("offset", "the position; null without a valid position"),
        int32("committed_epoch", "in the commit request"),
        string(
            "commit_epoch",
            "the commit style: record, application, position, metadata, max, forced, none, stale",
        ),
        int32("record_epoch", "of the last record polled before the commit"),
        int32(
            "position_epoch",
            "of the position's current leader in the client, when the commit began",
        ),
        int32(
            "metadata_epoch",
            "of the partition in the client's metadata, when the commit began",
        ),
        int32("cluster_epoch", "the leader epoch as the cluster reported it to the driver"),
        int32("position_epoch_after", "as position_epoch, when the commit ended"),
        int32("metadata_epoch_after", "as metadata_epoch, when the commit ended"),
        _GENERATION,
        string(
            "outcome",
            "ok, failed, unknown; nothing: the position awaited validation, so nothing was"
            " committed",
        ),
        _ERROR,
        _SEQ,
        int64("committed_micros", "when its outcome was known"),
        int64("began_micros", "when it began, by the same clock"),
    ),
    "committed_offsets": table(
        "One row per stored commit. Source: `__consumer_offsets`, all replicas, each record once.",
        string("group"),
        *PARTITION,
        int64("offset", "null in a tombstone"),
        int32("committed_epoch", "null in a tombstone"),
        string("metadata", "of the commit; null in a tombstone"),
        boolean("is_tombstone", "the commit was deleted, as with its topic, or expired"),
        int32("offsets_partition", "of `__consumer_offsets`"),
        int64("offsets_offset", "in that partition"),
        int64("committed_micros", "the record's timestamp, to the millisecond"),
        int64("producer_id", "of the transaction that it belongs to; -1 outside of one"),
        int32("producer_epoch", "the same"),
        string(
            "marker",
            "of the transaction: commit, abort; null outside of one, or where none ends it",
        ),
        int32s("brokers", "whose replicas hold the record at the end; null where not known"),
        int32("value_version", "of `OffsetCommitValue`; null in a tombstone"),
        string("topic_id", "in the value; null where it has none"),
        int64("marker_micros", "the marker's timestamp, to the millisecond; null without a marker"),
    ),
    "group_members": table(
        "One row per partition that a stored state of a group's member has assigned; one without a"
        " partition if it has none. Source: `__consumer_offsets`, all replicas, each record once"
        " (GroupMetadata, ConsumerGroupCurrentMemberAssignment).",
        string("group"),
        string("protocol", "classic or consumer"),
        string("member", "its id; empty: the group has no members"),
        int32("generation", "of the group, or the member epoch; null where the member is removed"),
        string("topic_id", "of an assigned partition; null with the classic protocol"),
        int32("partition"),
        int32("assignment_epoch", "the member epoch at which it was assigned; null where not kept"),
        int32("offsets_partition", "of `__consumer_offsets`"),
        int64("offsets_offset", "in that partition"),
        int64("at_micros", "the record's timestamp, to the millisecond"),
    ),
    "group_events": table(
        "One row per change of a member. Source: consumers' histories.",
        *MEMBER,
        string(
            "change",
            "opened, assigned (with the classic protocol again in each generation that the client"
            " reports), revoked, caught_up, stalled, sought (the application set the position),"
            " paused, resumed (in between it fetched nothing), failed, closed",
        ),
        string("topic", "empty where the change is not of a partition"),
        int32("partition", "-1 where the change is not of a partition"),
        int64("position", "null without a position"),
        int32("position_epoch"),
        string("exception", "simple name, of `failed`"),
        string("message", "of the exception"),
        int64("divergent_offset", "of a LogTruncationException"),
        int32("divergent_epoch", "the same"),
        _GENERATION,
        _SEQ,
        int64("at_micros"),
    ),
    "resets": table(
        "One row per reset that a client logged. Source: the clients' logs, with one parser per"
        " client. confluent-kafka passes librdkafka's lines to its `logger` at the next poll, so"
        " `at_micros` can be late.",
        *MEMBER,
        *PARTITION,
        string("cause", "truncation, out_of_range, no_commit"),
        string("policy", "`auto.offset.reset` of the group"),
        int64("from_offset", "null without a commit"),
        int32("from_epoch"),
        int64("to_offset", "null where the client raised an exception instead"),
        int32("to_epoch"),
        string("log_line", "the whole line"),
        int64("at_micros"),
    ),
}
