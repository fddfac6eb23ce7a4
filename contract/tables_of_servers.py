"""The trace tables of brokers and controllers: their metadata, replicas and logs."""

from contract.table_columns import (
    PARTITION,
    RANGE,
    REPLICA,
    boolean,
    int32,
    int32s,
    int64,
    micros,
    other_micros,
    string,
    table,
)

_AT_MS = micros("at_micros", "to the millisecond")
_LOG_LINE = string("log_line", "the whole line")
_METADATA_OFFSET = int64("metadata_offset", "of the record")

TABLES_OF_SERVERS = {
    "leaderships": table(
        "One row per change of a partition: the state after it. Source: `__cluster_metadata`, the"
        " longest log (PartitionRecord, PartitionChangeRecord).",
        *PARTITION,
        int32("leader", "-1: none", least=-1),
        int32("leader_epoch", least=-1),
        int32(
            "partition_epoch",
            "increases with each change (`PartitionRegistration.merge`)",
            least=-1,
        ),
        int32s("replicas"),
        int32s("isr"),
        int32s("elr", "eligible leader replicas (KIP-966)", null=True),
        _METADATA_OFFSET,
        int32("metadata_epoch", "of the quorum"),
        micros("at_micros"),
        string(
            "topic_id", "distinguishes topics that had one name; null where not known", null=True
        ),
        key="topic partition metadata_offset",
    ),
    "broker_states": table(
        "One row per change of a broker's registration: the state after it. Source:"
        " `__cluster_metadata`, the longest log (RegisterBrokerRecord,"
        " BrokerRegistrationChangeRecord, UnregisterBrokerRecord, and the older FenceBrokerRecord"
        " and UnfenceBrokerRecord).",
        int32("broker"),
        int64("broker_epoch", "increases with each registration (KIP-631)", least=-1),
        boolean("is_fenced", "also true once it is unregistered"),
        boolean("in_controlled_shutdown"),
        _METADATA_OFFSET,
        micros("at_micros"),
        key="broker metadata_offset",
    ),
    "acls": table(
        "One row per access control entry, by the names of Kafka's enums. Source:"
        " `__cluster_metadata`, the longest log (AccessControlEntryRecord,"
        " RemoveAccessControlEntryRecord).",
        string("resource_type", "e.g. TOPIC, CLUSTER"),
        string("resource_name"),
        string("pattern_type", "LITERAL or PREFIXED"),
        string("principal", "e.g. `User:reader`"),
        string("operation", "e.g. DESCRIBE, CLUSTER_ACTION"),
        string("permission", "ALLOW or DENY"),
        _METADATA_OFFSET,
        micros("at_micros", "when it was created"),
        micros("removed_micros", "null if never", null=True),
        key="metadata_offset resource_name principal operation",
    ),
    "replica_batches": table(
        "One row per batch of a replica at the end. Source: segments.",
        *REPLICA,
        int64("base_offset"),
        int64("last_offset"),
        int32("leader_epoch", least=-1),
        int64("producer_id", least=-1),
        int32("producer_epoch", least=-1),
        int32("base_sequence", "-1 without idempotence", least=-1),
        boolean("is_control", null=True),
        boolean("is_transactional", null=True),
        int32("record_count"),
        int64("size_bytes"),
        other_micros("max_timestamp_micros", "of its records", null=True, least=-1_000),
        string("control_type", "of a control batch: commit, abort, ...; else null", null=True),
        int64("checksum", "CRC of the batch"),
    ),
    "replica_records": table(
        "One row per range of data records of a replica at the end. Source: segments.",
        *REPLICA,
        *RANGE,
        int32("leader_epoch", least=-1),
    ),
    "epoch_checkpoints": table(
        "One row per epoch of a replica at the end. Source: `leader-epoch-checkpoint`.",
        *REPLICA,
        int32("leader_epoch", least=-1),
        int64("start_offset", "where the epoch begins"),
    ),
    "log_starts": table(
        "One row per replica: its bounds at the end. Source: segments,"
        " `log-start-offset-checkpoint`, `replication-offset-checkpoint`.",
        *REPLICA,
        int64("log_start_offset"),
        int64("log_end_offset", "exclusive"),
        int64(
            "high_watermark_checkpoint",
            "as checkpointed, every 5 s (default of"
            " `replica.high.watermark.checkpoint.interval.ms`); null if never",
            null=True,
        ),
        key="broker topic partition",
    ),
    "metadata_batches": table(
        "One row per batch of each server's metadata log at the end, control batches among them."
        " Source: segments of `__cluster_metadata`.",
        int32("server", "id of the broker or controller that has the log"),
        int64("base_offset"),
        int64("last_offset"),
        int32("metadata_epoch", "of the controllers' quorum", least=-1),
        int64("size_bytes"),
        int64("checksum", "CRC of the batch"),
        int32(
            "leader",
            "the controller that was elected; null if the batch has none",
            null=True,
            least=-1,
        ),
        micros("at_micros", "on the active controller's clock"),
    ),
    "cut_metadata_batches": table(
        "One row per batch that a server's metadata log held just before a fault on the server was"
        " healed (or its disk was wiped), and does not hold at the end. Source: the folder `kept`.",
        int32("server"),
        int64("base_offset"),
        int64("last_offset"),
        int32("metadata_epoch", "of the controllers' quorum", least=-1),
        int64("size_bytes"),
        int64("checksum", "CRC of the batch"),
        int32(
            "leader",
            "the controller that was elected; null if the batch has none",
            null=True,
            least=-1,
        ),
        micros("taken_micros", "when the log was copied"),
    ),
    "truncations": table(
        "One row per truncation of a replica. Source: the servers' logs.",
        *REPLICA,
        int64("to_offset", "the log's end afterwards, exclusive"),
        _AT_MS,
        _LOG_LINE,
    ),
    "leader_epoch_starts": table(
        "One row per leader epoch in which a replica became leader, also where retention removed"
        " the epoch later. Source: the servers' logs.",
        int32("broker", "the leader"),
        *PARTITION,
        int32("leader_epoch", least=-1),
        int64("start_offset", "the leader's log end when the epoch began"),
        _AT_MS,
        _LOG_LINE,
    ),
    "log_start_changes": table(
        "One row per advance of a replica's log start. Source: the servers' logs.",
        *REPLICA,
        int64("log_start_offset", "afterwards"),
        string(
            "reason",
            "in Kafka's words, e.g. `segment deletion`, `client delete records request`",
        ),
        _AT_MS,
        _LOG_LINE,
    ),
}
