"""The trace tables of the run: its faults and phases, and what was observed and collected."""

from contract.table_columns import (
    PARTITION,
    RANGE,
    REPLICA,
    WORKER,
    boolean,
    int32,
    int32s,
    int64,
    int64s,
    string,
    table,
)

_TAKEN = int64("taken_micros", "when the batch was first observed, on the driver's clock")

TABLES_OF_RUN = {
    "faults": table(
        "One row per injected fault. Source: the driver's history. Effects may show from"
        " `injected_micros` on, before the proof, and may last until `healed_micros`, after the"
        " heal began.",
        string("fault"),
        string("target"),
        boolean("landed", "the evidence shows its effect, and the effect lasted until the heal"),
        int64("injected_micros", "just before it was applied"),
        int64("proved_micros", "when its effect was seen; null if it was not seen"),
        int64("heal_began_micros", "just before it was undone; null: not healed within the run"),
        int64("healed_micros", "when it was undone; null: not healed within the run"),
        string("evidence", "JSON"),
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
        ),
        string("doing", "description of the phase"),
        int64("began_micros"),
        int64(
            "ended_micros",
            "of `collecting`: when the driver's history ended, before files were copied",
        ),
        int32("limit_seconds", "maximum duration of a phase of this stage"),
    ),
    "waits": table(
        "One row per wait of the driver for a state of the cluster. Source: the driver's history.",
        string("what", "description of the state"),
        int64("began_micros"),
        int64("ended_micros", "when it was reached, or the wait was given up"),
    ),
    "samples": table(
        "One row per response of a broker to the observer. Source: the observer's history.",
        int32("broker", "the broker that responded"),
        *PARTITION,
        int32("leader"),
        int32("leader_epoch"),
        int32s("isr"),
        int64("log_start_offset", "-1 unless that broker leads"),
        int64("log_end_offset", "its high watermark; -1 unless it leads"),
        int64("at_micros", "when the response was recorded"),
        int64("asked_micros", "when the request was sent, by the same clock"),
    ),
    "quorum_samples": table(
        "One row per response of the metadata quorum's leader to a DescribeQuorum, by which it"
        " leads: other controllers refuse it. Source: the observer's history.",
        int32("server", "the controller that responded"),
        int32("leader", "as it reports it: itself"),
        int32("leader_epoch", "of the quorum"),
        int64("high_watermark", "-1 until an entry of the epoch is committed"),
        int32s("voters"),
        int64s("log_ends", "of each of `voters`, as far as the leader knows; -1: it has not"),
        int32s("observers", "the other servers that fetch from the leader"),
        int64("at_micros", "when the response was recorded"),
        int64("asked_micros", "when the request was sent, by the same clock"),
    ),
    "wire_calls": table(
        "One row per partition that a request, or a client's method, asked about; one row without a"
        " partition if it asked about none. Source: the observer's history. A column is null where"
        " the request or the response has no such field at that version.",
        WORKER,
        int64("seq", "of the request in its history"),
        int32("broker", "to which the request was sent; -1: a client chose it"),
        string(
            "principal",
            "as which the observer logged in, e.g. `User:reader`; null: without a login",
        ),
        string("api", "its name in `ApiKeys`, or that of a client's method"),
        int32("api_key"),
        int32("version", "of request and response; 0 of a client's method"),
        *PARTITION,
        int32("asked_replica", "the broker that the request says it is from; -1: a consumer"),
        int32(
            "current_leader_epoch",
            "in the request; -1: the client gives none; of a Vote, the candidate's",
        ),
        int32(
            "asked_epoch",
            "of an OffsetForLeaderEpoch; the last fetched epoch of a Fetch, or the committed epoch,"
            " -1: none",
        ),
        int64("asked_offset", "the fetch offset of a Fetch, or the offset that is committed"),
        int64("asked_timestamp", "of a ListOffsets, -1: latest, -2: earliest; of offsetsForTimes"),
        int32("error_code", "of the partition, or of the whole response"),
        boolean(
            "is_retriable",
            "whether the client library has a retriable exception for the error; null without one",
        ),
        int32("leader", "of a Metadata, or of the quorum in the response of a controller"),
        int32(
            "epoch",
            "in the response: of the end offset (OffsetForLeaderEpoch), of the offset"
            " (ListOffsets), of the leader (Metadata, or the response of a controller), of the"
            " commit (OffsetFetch)",
        ),
        int64(
            "offset",
            "in the response: the end offset, the offset of a ListOffsets, or the committed one of"
            " an OffsetFetch",
        ),
        int32("diverging_epoch", "of a Fetch; -1: no divergence"),
        int64("diverging_offset", "end offset of that epoch; -1: no divergence"),
        int64("record_bytes", "size of the records of a Fetch"),
        int32("throttle_ms"),
        string("failure", "why there is no response that could be decoded; else null"),
        string("request", "JSON, by Kafka's own converter of that version"),
        string("response", "the same, without records; null if there is none"),
        int64("began_micros", "when the request was sent"),
        int64("at_micros", "when the response was there, by the same clock"),
        string("group", "in the request"),
        string("member", "id in the request, or that a group gave"),
        int32("generation", "or member epoch, of the same"),
        int64("producer_id", "in the request, or granted by an InitProducerId"),
        int32("producer_epoch", "of the same"),
        string("topic_id", "in the request, where it has ids instead of names"),
        string("metadata", "of a commit, or of the response to an OffsetFetch"),
        boolean("is_stable", "whether an OffsetFetch asks for stable offsets only"),
        string("client", "whose method was called; null: a single request of the observer"),
    ),
    "clocks": table(
        "One row per node, read when the servers and workers have started. Source: the driver's"
        " history.",
        string("node"),
        int64(
            "ahead_micros",
            "upper bound of how far its clock was ahead of the driver's; negative: it was behind",
        ),
        int64("behind_micros", "lower bound of the same"),
        int64("at_micros"),
    ),
    "histories": table(
        "One row per worker's history. Source: the files; those that begin with the same line are"
        " copies of one, and are read together.",
        string("worker"),
        string("role"),
        string("client"),
        string("client_version"),
        int64("events", "lines that could be parsed"),
        int64("missing_seqs", "gaps in the sequence numbers, or in the numbers of faults"),
        int64("torn_lines", "a last line without its end"),
        int64(
            "malformed_lines",
            "lines that could not be parsed, or have a sequence number of another line and other"
            " content",
        ),
        string("malformed_at", "the first of these, as file:line"),
        boolean("ended_by_itself", "false: killed"),
        int64("duplicate_lines", "lines that repeat another one"),
        int64(
            "unknown_fields",
            "fields of events that this version does not know; their events count",
        ),
        int64(
            "clock_jump_micros",
            "largest change of the difference between the wall clock and the monotonic clock of"
            " the node",
        ),
    ),
    "servers": table(
        "One row per name below `brokers/` or `segments/`. Source: the folders.",
        string("name", "of the folder"),
        int32("server", "its id; null where the name has no id"),
        int64("log_lines", "of its server.log; 0: no such file"),
        int32("replicas", "how many replicas' folders were collected"),
        int32("ignored_files", "files in them whose names are not those of segments"),
    ),
    "cut_batches": table(
        "One row per batch that a replica held just before a fault on its server was healed (or a"
        " disk was wiped, or a tail removed), if the replica does not have it at the end and"
        " retention did not delete it. Source: the folder `kept`.",
        *REPLICA,
        int64("base_offset"),
        int64("last_offset"),
        int32("leader_epoch"),
        int32("record_count"),
        int64("size_bytes"),
        _TAKEN,
    ),
    "cut_records": table(
        "One row per range of data records of the batches in `cut_batches`. Source: the folder"
        " `kept`.",
        *REPLICA,
        *RANGE,
        int32("leader_epoch"),
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
        ),
    ),
}
