"""The trace tables, one Parquet file each below `tables/` of a run's folder.

The collector writes them with these schemas, sorted by topic, partition, offset where they have
these columns. Tables of records have a row for each range of records (`contract.ranges`).
Times are microseconds since 1970 on the node's clock (`*_micros`); leader epochs are -1 where
Kafka has none. Each table is declared with its descriptions: those of clients in
`contract/tables_of_clients.py`, those of servers and of the run here.
"""

import pyarrow as pa

from contract.table_columns import (
    PARTITION,
    RANGE,
    REPLICA,
    WORKER,
    YEAR_10000_MICROS,
    Table,
    boolean,
    int32,
    int32s,
    int64,
    int64s,
    json,
    micros,
    nullable,
    other_micros,
    string,
    strings,
    table,
    wire_int32,
    wire_int64,
)
from contract.tables_of_clients import TABLES_OF_CLIENTS
from contract.terms import Stage, TargetKind

MICROS_PER_SECOND = 1_000_000
MICROS_PER_MS = 1_000
OFFSETS_TOPIC = "__consumer_offsets"
"""Kafka's own topic of committed offsets."""

# Of brokers and controllers: their metadata, replicas and logs.

_AT_MS = micros("at_micros", "to the millisecond")
_LOG_LINE = string("log_line", "the whole line")
_METADATA_OFFSET = int64("metadata_offset", "of the record")

_OF_SERVERS = {
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

# Of the run: its faults and phases, and what was observed and collected.

_TAKEN = micros("taken_micros", "when the batch was first observed, on the driver's clock")

_OF_RUN = {
    "faults": table(
        "One row per injected fault. Source: the driver's history. Effects may show from"
        " `injected_micros` on, before the proof, and may last until `healed_micros`, after the"
        " heal began.",
        string("fault", "its verb: docs/faults.md"),
        string("target_kind", "what it acts on", values=TargetKind),
        int32s("brokers", "ids of the servers that it named; empty: it names none"),
        *nullable(string("topic", "that the target names, as the next four"), int32("partition")),
        string("group", null=True),
        string("worker", "of the clients that it acts on", null=True),
        strings("transactional_ids"),
        boolean("landed", "the evidence shows its effect, and the effect lasted until the heal"),
        micros("injected_micros", "just before it was applied"),
        micros("proved_micros", "when its effect was seen; null if it was not seen", null=True),
        micros(
            "heal_began_micros",
            "just before it was undone; null: not healed within the run",
            null=True,
        ),
        micros("healed_micros", "when it was undone; null: not healed within the run", null=True),
        json("evidence"),
        int64(
            "forced_ms",
            "sum of the Kafka timeouts that had to pass before an effect was possible",
        ),
        string("forced_by", "their settings, joined by commas"),
    ),
    "phases": table(
        "One row per phase of the run. Source: the driver's history.",
        string(
            "stage",
            "starting, warm up, steady, held, healed, settling, final read, collecting",
            values=Stage,
        ),
        string("doing", "description of the phase"),
        micros("began_micros"),
        micros(
            "ended_micros",
            "of `collecting`: when the driver's history ended, before files were copied",
        ),
        int32("limit_seconds", "maximum duration of a phase of this stage"),
    ),
    "notes": table(
        "One row per note of the scenario, for its report. Source: the driver's history.",
        string("text"),
        micros("at_micros"),
    ),
    "waits": table(
        "One row per wait of the driver for a state of the cluster. Source: the driver's history.",
        string("what", "description of the state"),
        micros("began_micros"),
        micros("ended_micros", "when it was reached, or the wait was given up"),
    ),
    "samples": table(
        "One row per response of a broker to the observer. Source: the observer's history.",
        int32("broker", "the broker that responded"),
        *PARTITION,
        int32("leader", least=-1),
        int32("leader_epoch", least=-1),
        int32s("isr"),
        int64("log_start_offset", "-1 unless that broker leads", least=-1),
        int64("log_end_offset", "its high watermark; -1 unless it leads", least=-1),
        micros("at_micros", "when the response was recorded"),
        micros("asked_micros", "when the request was sent, by the same clock", null=True),
    ),
    "group_samples": table(
        "One row per change of a group's state, as a broker that coordinates it responded to the"
        " observer, twice a second. Source: the observer's history.",
        int32("broker", "the broker that responded"),
        string("group"),
        string(
            "state",
            "in Kafka's words, e.g. Stable, PreparingRebalance, Assigning; empty: the broker does"
            " not report the group any more, or does not respond",
        ),
        micros("at_micros", "when the response was recorded"),
        micros("asked_micros", "when the request was sent, by the same clock"),
    ),
    "quorum_samples": table(
        "One row per response of the metadata quorum's leader to a DescribeQuorum, by which it"
        " leads: other controllers refuse it. Source: the observer's history.",
        int32("server", "the controller that responded"),
        int32("leader", "as it reports it: itself", least=-1),
        int32("leader_epoch", "of the quorum", least=-1),
        int64("high_watermark", "-1 until an entry of the epoch is committed", least=-1),
        int32s("voters"),
        int64s(
            "log_ends", "of each of `voters`, as far as the leader knows; -1: it has not", least=-1
        ),
        int32s("observers", "the other servers that fetch from the leader"),
        micros("at_micros", "when the response was recorded"),
        micros("asked_micros", "when the request was sent, by the same clock"),
    ),
    "wire_calls": table(
        "One row per partition that a request, or a client's method, asked about; one row without a"
        " partition if it asked about none. Source: the observer's history. A column is null where"
        " the request or the response has no such field at that version.",
        WORKER,
        int64("seq", "of the request in its history"),
        int32("broker", "to which the request was sent; -1: a client chose it", least=-1),
        string(
            "principal",
            "as which the observer logged in, e.g. `User:reader`; null: without a login",
            null=True,
        ),
        string("api", "its name in `ApiKeys`, or that of a client's method"),
        int32("api_key", "-1 of a client's method", least=-1),
        int32("version", "of request and response; 0 of a client's method"),
        *nullable(*PARTITION),
        wire_int32("asked_replica", "the broker that the request says it is from; -1: a consumer"),
        wire_int32(
            "current_leader_epoch",
            "in the request; -1: the client gives none; of a Vote, the candidate's",
        ),
        wire_int32(
            "asked_epoch",
            "of an OffsetForLeaderEpoch; the last fetched epoch of a Fetch, or the committed epoch,"
            " -1: none",
        ),
        wire_int64("asked_offset", "the fetch offset of a Fetch, or the offset that is committed"),
        wire_int64(
            "asked_timestamp", "of a ListOffsets, -1: latest, -2: earliest; of offsetsForTimes"
        ),
        wire_int32("error_code", "of the partition, or of the whole response"),
        boolean(
            "is_retriable",
            "whether the client library has a retriable exception for the error; null without one",
            null=True,
        ),
        wire_int32("leader", "of a Metadata, or of the quorum in the response of a controller"),
        wire_int32(
            "epoch",
            "in the response: of the end offset (OffsetForLeaderEpoch), of the offset"
            " (ListOffsets), of the leader (Metadata, or the response of a controller), of the"
            " commit (OffsetFetch)",
        ),
        wire_int64(
            "offset",
            "in the response: the end offset, the offset of a ListOffsets, or the committed one of"
            " an OffsetFetch",
        ),
        wire_int32("diverging_epoch", "of a Fetch; -1: no divergence"),
        wire_int64("diverging_offset", "end offset of that epoch; -1: no divergence"),
        wire_int64("record_bytes", "size of the records of a Fetch"),
        wire_int32("throttle_ms"),
        string("failure", "why there is no response that could be decoded; else null", null=True),
        string("request", "JSON, by Kafka's own converter of that version"),
        string("response", "the same, without records; null if there is none", null=True),
        micros("began_micros", "when the request was sent"),
        micros("at_micros", "when the response was there, by the same clock"),
        string("group", "in the request", null=True),
        string("member", "id in the request, or that a group gave", null=True),
        wire_int32("generation", "or member epoch, of the same"),
        wire_int64("producer_id", "in the request, or granted by an InitProducerId"),
        wire_int32("producer_epoch", "of the same"),
        string("topic_id", "in the request, where it has ids instead of names", null=True),
        string("metadata", "of a commit, or of the response to an OffsetFetch", null=True),
        boolean("is_stable", "whether an OffsetFetch asks for stable offsets only", null=True),
        string(
            "client", "whose method was called; null: a single request of the observer", null=True
        ),
    ),
    "clocks": table(
        "One row per node, read when the servers and workers have started. Source: the driver's"
        " history.",
        string("node"),
        other_micros(
            "ahead_micros",
            "upper bound of how far its clock was ahead of the driver's; negative: it was behind",
            least=-YEAR_10000_MICROS,
        ),
        other_micros("behind_micros", "lower bound of the same", least=-YEAR_10000_MICROS),
        micros("at_micros"),
    ),
    "histories": table(
        "One row per worker's history. Source: the files; those that begin with the same line are"
        " copies of one, and are read together.",
        string("worker"),
        string("role", null=True),
        string("client", null=True),
        string("client_version", null=True),
        int64("events", "lines that could be parsed"),
        int64("missing_seqs", "gaps in the sequence numbers, or in the numbers of faults"),
        int64("torn_lines", "a last line without its end"),
        int64(
            "malformed_lines",
            "lines that could not be parsed, or have a sequence number of another line and other"
            " content",
        ),
        string("malformed_at", "the first of these, as file:line", null=True),
        boolean("ended_by_itself", "false: killed"),
        int64("duplicate_lines", "lines that repeat another one", null=True),
        int64(
            "unknown_fields",
            "fields of events that this version does not know; their events count",
            null=True,
        ),
        other_micros(
            "clock_jump_micros",
            "largest change of the difference between the wall clock and the monotonic clock of"
            " the node",
            null=True,
        ),
        int64("log_lines", "of its clients' log; 0: no such file; null: not known", null=True),
        boolean("is_log_torn", "its last line has no end", null=True),
        micros(
            "log_until_micros",
            "of the last line of that log that has a time, to the millisecond",
            null=True,
        ),
        key="worker",
    ),
    "servers": table(
        "One row per name below `brokers/` or `segments/`. Source: the folders.",
        string("name", "of the folder"),
        int32("server", "its id; null where the name has no id", null=True),
        int64("log_lines", "of its server.log; 0: no such file"),
        int32("replicas", "how many replicas' folders were collected"),
        int32("ignored_files", "files in them whose names are not those of segments"),
        key="name",
    ),
    "cut_batches": table(
        "One row per batch that a replica held just before a fault on its server was healed (or a"
        " disk was wiped, a tail removed, or the replica deleted), if the replica does not have it"
        " at the end and retention did not delete it. Source: the folder `kept`.",
        *REPLICA,
        int64("base_offset"),
        int64("last_offset"),
        int32("leader_epoch", least=-1),
        int32("record_count"),
        int64("size_bytes"),
        _TAKEN,
    ),
    "cut_records": table(
        "One row per range of data records of the batches in `cut_batches`. Source: the folder"
        " `kept`.",
        *REPLICA,
        *RANGE,
        int32("leader_epoch", least=-1),
        _TAKEN,
    ),
    "unread_segments": table(
        "One row per segment that could not be read to its end. Source: the segments, read with"
        " `FileRecords`.",
        *REPLICA,
        string("segment", "the file's name"),
        int64("position_bytes", "how far it could be read"),
        int64("unread_bytes", "the rest of the segment"),
        string(
            "error",
            "null where the newest segment ends within a batch, as after a kill of the server",
            null=True,
        ),
    ),
}

DECLARED: dict[str, Table] = TABLES_OF_CLIENTS | _OF_SERVERS | _OF_RUN
"""The tables with the descriptions of their rows and columns, by name."""

ADDED = frozenset(
    {
        "group_assignments",
        "group_epochs",
        "group_samples",
        "join_loops",
        "member_metadata",
        "member_states",
        "poll_spans",
        "subscriptions",
        "suspensions",
        "unshown_epochs",
    }
)
"""Tables that runs of earlier releases do not have."""

OF_RUN = b"fencepost.run"
"""The key in a file's metadata of the run that it is of (`RunDescription.identity`)."""


def of_run(schema: pa.Schema, identity: str) -> pa.Schema:
    """Return a schema whose files name their run."""
    return schema.with_metadata({OF_RUN: identity.encode()})


TABLES: dict[str, pa.Schema] = {name: declared.schema for name, declared in DECLARED.items()}
"""The columns of each table."""
