"""The trace tables of producers and consumers: what they sent, received and committed."""

from contract.table_columns import (
    MEMBER,
    PARTITION,
    RANGE,
    RANGE_SENT,
    WORKER,
    boolean,
    int32,
    int32s,
    int64,
    micros,
    nullable,
    string,
    table,
)
from contract.terms import (
    CommitEpoch,
    GroupChange,
    Manner,
    Outcome,
    TransactionChange,
    TransactionStep,
)

_DECIDED = (Outcome.OK, Outcome.FAILED, Outcome.UNKNOWN)
_CHANGES = (*GroupChange, "failed", "lost")
_ERROR = string("error", "simple name of the client's exception", null=True)
_SEQ = int64("seq", "of the event in its history")
_GENERATION = int32(
    "generation",
    "of the group, or the member epoch with the consumer protocol; -1 where not known",
    null=True,
    least=-2,
)
_STORED_MEMBER = (string("group"), string("member", "its id"))
_PROTOCOL = string("protocol", "classic or consumer", values=("classic", "consumer"))
_OFFSETS_RECORD = (
    int32("offsets_partition", "of `__consumer_offsets`"),
    int64("offsets_offset", "in that partition"),
)
_STORED_AT = micros("at_micros", "the record's timestamp, to the millisecond")

TABLES_OF_CLIENTS = {
    "sends": table(
        "One row per range of values that a producer set out to send. Offsets are null unless the"
        " values are acknowledged. Source: producers' histories.",
        WORKER,
        *RANGE_SENT,
        *PARTITION,
        string("acks"),
        string("outcome", "ok, failed (certainly not written) or unknown", values=_DECIDED),
        _ERROR,
        micros("intended_micros", "null if that line is missing", null=True),
        micros("answered_micros", "null without an outcome", null=True),
        int32(
            "transaction",
            "the producer's number of its transaction, from 0; null outside of one",
            null=True,
        ),
        boolean(
            "is_idempotent", "`enable.idempotence` of the producer; null where not known", null=True
        ),
        int32(
            "in_flight_max",
            "its `max.in.flight.requests.per.connection`; null where not known",
            null=True,
        ),
    ),
    "transactions": table(
        "One row per step of a transactional producer, and per response of a coordinator to a"
        " describe request. Source: the producers' and the observer's histories.",
        WORKER,
        string("producer", "empty in a row of the coordinator"),
        string("transactional_id"),
        int32(
            "transaction",
            "the producer's number of its transaction, from 0; null before the first",
            null=True,
        ),
        string(
            "step",
            "initialize, begin, send_offsets, commit, abort, describe",
            values=TransactionStep,
        ),
        string(
            "change",
            "initialized, begun, offsets_sent, committed, aborted, described; fenced, failed",
            values=TransactionChange,
        ),
        int64(
            "producer_id",
            "in force after the step; -1 where the client does not report it",
            least=-1,
        ),
        int32(
            "producer_epoch",
            "the same; with transaction.version=2 it increases at each end of a transaction"
            " (KIP-890)",
            least=-1,
        ),
        string("state", "of the transaction, in Kafka's words; empty except for describe"),
        string("outcome", "ok, failed (certainly not done) or unknown", values=_DECIDED),
        _ERROR,
        _SEQ,
        micros("began_micros", "when the step began"),
        micros("at_micros", "when the step ended"),
        key="worker seq producer",
    ),
    "polls": table(
        "One row per range of records that one poll returned. Source: consumers' histories.",
        *MEMBER,
        *PARTITION,
        *RANGE,
        int32("leader_epoch", least=-1),
        boolean("is_intact", "the checksums of the values are correct"),
        _SEQ,
        int32(
            "first_place",
            "of the first record, among those that the poll returned of the partition; from 0",
        ),
        micros("polled_micros"),
        key="worker seq group member topic partition first_place",
    ),
    "unshown_epochs": table(
        "One row per member and partition of which it was delivered records without a leader epoch:"
        " `polls` has those of the batches in the logs. Source: consumers' histories.",
        *MEMBER,
        *PARTITION,
        key="worker group member topic partition",
    ),
    "poll_spans": table(
        "One row per second or more in which the application polled a member, each time at most a"
        " second after the poll before had ended. Source: consumers' histories.",
        *MEMBER,
        _SEQ,
        micros("began_micros", "when the first of these polls began"),
        micros("ended_micros", "when the last of them ended"),
        key="worker seq",
    ),
    "suspensions": table(
        "One row per 2 s or more in which a worker's process did not run: it or its machine was"
        " stopped, also by a fault. Source: workers' histories.",
        WORKER,
        micros("began_micros", "at most half a second too early"),
        micros("ended_micros"),
    ),
    "commits": table(
        "One row per commit of a client and partition, including those with nothing to commit."
        " Source: consumers' histories.",
        *MEMBER,
        *PARTITION,
        int64(
            "offset",
            "the position; null without a valid position, or of a guest that does not show it",
            null=True,
        ),
        int32("committed_epoch", "in the commit request", least=-1),
        string("commit_epoch", "the commit style", values=CommitEpoch),
        int32("record_epoch", "of the last record polled before the commit", least=-1),
        int32(
            "position_epoch",
            "of the position's current leader in the client, when the commit began",
            least=-1,
        ),
        int32(
            "metadata_epoch",
            "of the partition in the client's metadata, when the commit began",
            least=-1,
        ),
        int32(
            "cluster_epoch", "the leader epoch as the cluster reported it to the driver", least=-1
        ),
        int32("position_epoch_after", "as position_epoch, when the commit ended", least=-1),
        int32("metadata_epoch_after", "as metadata_epoch, when the commit ended", least=-1),
        _GENERATION,
        string(
            "outcome",
            "ok, failed, unknown; nothing: the position awaited validation, so nothing was"
            " committed",
            values=Outcome,
        ),
        _ERROR,
        _SEQ,
        micros("committed_micros", "when its outcome was known"),
        micros("began_micros", "when it began, by the same clock", null=True),
        string(
            "manner",
            "the client's call, as in a plan's group: sync, message, stored, ...; null where not"
            " known",
            null=True,
            values=Manner,
        ),
        key="worker seq group topic partition",
    ),
    "offset_reads": table(
        "One row per committed offset that a client returned to its application, or to an"
        " administrator, when asked (`committed()`, `Admin.listConsumerGroupOffsets`). Where a"
        " member resumes by itself is a position in `group_events`."
        " Source: histories of consumers and of the observer.",
        WORKER,
        string("group"),
        string("member", "that asked; empty of an administrator"),
        string("topic", "empty where the read failed and named no partitions"),
        int32("partition", "-1 where the read failed and named no partitions", least=-1),
        int64("offset", "null where there is no commit, or the read failed", null=True),
        int32("epoch", "committed with it; -1: without one, or the client returns none", least=-1),
        _ERROR,
        boolean(
            "is_stable",
            "the client asks the coordinator for stable offsets (KIP-447); null where not known",
            null=True,
        ),
        string("by", "consumer or admin", values=("consumer", "admin")),
        _SEQ,
        micros("began_micros", "when the client was asked"),
        micros("at_micros", "when it answered, by the same clock"),
        key="worker seq",
    ),
    "committed_offsets": table(
        "One row per stored commit. Source: `__consumer_offsets`, all replicas, each record once.",
        string("group"),
        *PARTITION,
        int64("offset", "null in a tombstone", null=True),
        int32("committed_epoch", "null in a tombstone", null=True, least=-1),
        string("metadata", "of the commit; null in a tombstone", null=True),
        boolean(
            "is_tombstone",
            "the commit was deleted, as with its topic, or expired; or its offset is below 0, which"
            " clients take for none (`OffsetFetchResponse.INVALID_OFFSET`): then the row has a"
            " value_version",
        ),
        int32("offsets_partition", "of `__consumer_offsets`"),
        int64("offsets_offset", "in that partition"),
        int32(
            "log_epoch",
            "leader epoch of that partition under which it was stored; null where not known",
            null=True,
        ),
        micros("committed_micros", "the record's timestamp, to the millisecond"),
        int64(
            "producer_id",
            "of the transaction that it belongs to; -1 outside of one",
            null=True,
            least=-1,
        ),
        int32("producer_epoch", "the same", null=True, least=-1),
        string(
            "marker",
            "of the transaction: commit, abort; null outside of one, or where none ends it",
            null=True,
            values=("commit", "abort"),
        ),
        int32s(
            "brokers", "whose replicas hold the record at the end; null where not known", null=True
        ),
        int32("value_version", "of `OffsetCommitValue`; null in a tombstone", null=True),
        string("topic_id", "in the value; null where it has none", null=True),
        micros(
            "marker_micros",
            "the marker's timestamp, to the millisecond; null without a marker",
            null=True,
        ),
        key="offsets_partition offsets_offset log_epoch",
    ),
    "member_metadata": table(
        "One row per client of a group's member, as it joined. Source: `__consumer_offsets`, all"
        " replicas (GroupMetadata, ConsumerGroupMemberMetadata).",
        *_STORED_MEMBER,
        string("client_id", "its `client.id`"),
        string("instance_id", "its `group.instance.id`; null: dynamic", null=True),
        int64(
            "session_ms",
            "its session timeout; null with the consumer protocol, where it is the group's",
            null=True,
        ),
        int64("rebalance_ms", "its rebalance timeout; null where not stored", null=True),
    ),
    "subscriptions": table(
        "One row per topic that a group's member has subscribed. Source: as `member_metadata`.",
        *_STORED_MEMBER,
        string("topic", "null: a pattern, or what can't be read", null=True),
    ),
    "member_states": table(
        "One row per partition that a member with the consumer protocol has to revoke in a stored"
        " state; one without a partition if there is none. Source: `__consumer_offsets`, all"
        " replicas, each record once (ConsumerGroupCurrentMemberAssignment).",
        *_STORED_MEMBER,
        string("state", "in Kafka's words, e.g. STABLE, UNREVOKED_PARTITIONS"),
        int32("previous_epoch", "the member epoch before", least=-2),
        *nullable(string("topic_id"), int32("partition")),
        *_OFFSETS_RECORD,
    ),
    "group_assignments": table(
        "One row per partition that the assignment of a group gives to a member; one without a"
        " partition if it has none. Source: `__consumer_offsets`, all replicas, each record once:"
        " of a generation (GroupMetadata), or of a member"
        " (ConsumerGroupTargetAssignmentMember).",
        string("group"),
        _PROTOCOL,
        string("member", "its id; empty: the group has no members"),
        *nullable(
            string("topic", "with the classic protocol"),
            string("topic_id", "with the consumer protocol"),
            int32("partition"),
        ),
        *_OFFSETS_RECORD,
        _STORED_AT,
    ),
    "group_epochs": table(
        "One row per epoch of a group with the consumer protocol. Source: `__consumer_offsets`,"
        " all replicas, each record once (ConsumerGroupMetadata,"
        " ConsumerGroupTargetAssignmentMetadata).",
        string("group"),
        int32("epoch"),
        boolean("is_of_assignment", "the epoch that its assignment was computed for"),
        *_OFFSETS_RECORD,
        _STORED_AT,
    ),
    "group_members": table(
        "One row per partition that a stored state of a group's member has assigned; one without a"
        " partition if it has none. Source: `__consumer_offsets`, all replicas, each record once"
        " (GroupMetadata, ConsumerGroupCurrentMemberAssignment).",
        string("group"),
        _PROTOCOL,
        string("member", "its id; empty: the group has no members"),
        int32(
            "generation",
            "of the group, or the member epoch; null where the member is removed",
            null=True,
            least=-2,
        ),
        string("topic_id", "of an assigned partition; null with the classic protocol", null=True),
        int32("partition", null=True),
        int32(
            "assignment_epoch",
            "the member epoch at which it was assigned; null where not kept",
            null=True,
            least=-2,
        ),
        *_OFFSETS_RECORD,
        _STORED_AT,
    ),
    "group_events": table(
        "One row per change of a member. Source: consumers' histories.",
        *MEMBER,
        string(
            "change",
            "opened, assigned (with the classic protocol again in each generation that the client"
            " reports), revoked, caught_up, stalled, sought (the application set the position),"
            " paused, resumed (in between it fetched nothing), failed, closed",
            values=_CHANGES,
        ),
        string("topic", "empty where the change is not of a partition"),
        int32("partition", "-1 where the change is not of a partition", least=-1),
        int64("position", "null without a position", null=True),
        int32("position_epoch", null=True, least=-1),
        string("exception", "simple name, of `failed`", null=True),
        string("message", "of the exception", null=True),
        int64("divergent_offset", "of a LogTruncationException", null=True, least=-1),
        int32("divergent_epoch", "the same", null=True, least=-1),
        _GENERATION,
        _SEQ,
        micros("at_micros"),
        key="worker seq group member topic partition change",
    ),
    "omitted_commits": table(
        "One row per position that a client logged it left out of a commit, also of those that it"
        " makes by itself. Source: librdkafka's log, whose lines can be late as in `resets`; other"
        " clients log none.",
        *MEMBER,
        *PARTITION,
        int64("offset", "the position"),
        int32("epoch", "its leader epoch; -1 without one", least=-1),
        int64("committed_offset", "which the client holds against it"),
        int32("committed_epoch", "the same", least=-1),
        string("log_line", "the whole line"),
        micros("at_micros"),
    ),
    "join_loops": table(
        "One row per ten times or more that a member's client set out to join its group, each at"
        " most a second after the one before. Source: the logs of Java and of kafka-python.",
        *MEMBER,
        int64("times"),
        micros("began_micros", "of the first, to the millisecond"),
        micros("ended_micros", "of the last"),
    ),
    "resets": table(
        "One row per reset that a client logged. Source: the clients' logs, with one parser per"
        " client. confluent-kafka passes librdkafka's lines to its `logger` at the next poll, so"
        " `at_micros` can be late. A client that looks an offset up logs the reset before, and the"
        " offset when it knows it: `at_micros` is that of the first line.",
        *MEMBER,
        *PARTITION,
        string(
            "cause",
            "truncation, out_of_range, no_commit",
            values=("truncation", "out_of_range", "no_commit"),
        ),
        string("policy", "`auto.offset.reset` of the group", null=True),
        int64("from_offset", "null without a commit", null=True),
        int32("from_epoch", null=True, least=-1),
        int64("to_offset", "null where the client raised an exception instead", null=True),
        int32("to_epoch", null=True, least=-1),
        string("log_line", "the whole line"),
        micros("at_micros"),
    ),
}
