"""What KIP-1319 says besides the rules."""

from functools import partial

from contract.statement import Coverage, Statement

_of = partial(Statement, "KIP-1319")
_JUDGED = Coverage.JUDGED
_NOT_APPLICABLE = Coverage.NOT_APPLICABLE
_NOT_COVERED = Coverage.NOT_COVERED
_SUPERSEDED = Coverage.SUPERSEDED

STATEMENTS_OF_KIP_1319 = (
    _of(
        "Status, Test Plan, Rejected Alternatives",
        "The KIP is accepted and tested; why there is one new version.",
        _NOT_APPLICABLE,
        note="they require nothing by themselves",
        second="001: 1, 74-77",
    ),
    _of(
        "Public Interfaces",
        "TxnOffsetCommit has version 6, with topic ids instead of names, in request and response.",
        _JUDGED,
        ("accepted commit", "schema"),
        note="txn_offset_commit, part `wire`, at every version",
        second="001: 8-10, 18-19, 23-25",
    ),
    _of(
        "Motivation",
        "Up to version 5 it has names only.",
        _JUDGED,
        ("accepted commit",),
        note="txn_offset_commit, part `wire`",
        second="001: 5",
    ),
    _of(
        "Public Interfaces",
        "GenerationId is renamed.",
        _NOT_APPLICABLE,
        note="on the wire the field stays",
        second="001: 11-12",
    ),
    _of(
        "Public Interfaces",
        "Types, defaults and places of the other fields.",
        _NOT_COVERED,
        note="fields are those of the release's schemas, which are not compared with the text",
        second="001: 14-16, 20-22, 26-27",
    ),
    _of(
        "Public Interfaces",
        "By a comment of the schema version 6 returns GROUP_ID_NOT_FOUND whenever there"
        " is no group.",
        _SUPERSEDED,
        note="only for a request with a generation, as the table of errors says",
        second="001: 17",
    ),
    _of(
        "Proposed Changes, Broker",
        "A resolved topic that the client may not read is refused with TOPIC_AUTHORIZATION_FAILED.",
        _NOT_COVERED,
        note="no commit of a principal in epoch_protocol, which has the authorizer",
        second="001: 41",
    ),
    _of(
        "Proposed Changes, Broker",
        "There is no new schema of the record; its topic id can be ignored.",
        _JUDGED,
        ("version of a stored commit",),
        note="txn_offset_commit",
        second="001: 48, 71",
    ),
    _of(
        "Proposed Changes, Producer",
        "sendOffsetsToTransaction does not change.",
        _NOT_APPLICABLE,
        note="a signature; part `clients` calls it on every release",
        second="001: 49",
    ),
    _of(
        "Proposed Changes, Producer",
        "The producer takes the topics into its metadata, waits at most max.block.ms,"
        " and maps ids back to names.",
        _NOT_COVERED,
        note="requests of clients are not recorded; part `clients` shows that its offsets"
        " are stored with the id",
        second="001: 50-55, 66",
    ),
    _of(
        "Proposed Changes, Producer",
        "If the producer lacks one topic's id, the whole request falls back to version 5.",
        _NOT_COVERED,
        note="requests of clients are not recorded; so by the classes of 4.4.0:"
        " `TransactionManager.txnOffsetCommitHandler` takes names, unless `Metadata.topicIds` has"
        " every topic",
        second="001: 56-58",
    ),
    _of(
        "Proposed Changes, Producer",
        "GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH make the producer abort.",
        _NOT_COVERED,
        note="no producer of a run gets these errors",
        second="001: 59-62",
    ),
    _of(
        "Proposed Changes, Producer",
        "UNKNOWN_TOPIC_ID is retried.",
        _NOT_COVERED,
        note="`is_retriable` of wire_calls has it, and no rule requires it",
        second="001: 63-64",
    ),
    _of(
        "Proposed Changes, Producer",
        "After it, the partition stays pending and is sent again.",
        _NOT_COVERED,
        note="requests of clients are not recorded",
        second="001: 65",
    ),
    _of(
        "Compatibility",
        "Versions from 5 on need Transaction V2; against older brokers a lower version is used.",
        _JUDGED,
        ("offsets_without_output", "output_without_offsets"),
        note="part `upgrade`: the producer of 4.4.0 sends offsets to coordinators of 4.3.1, which"
        " support version 5 at most, and of 4.4.0; no run is without Transaction V2 on these",
        second="001: 67-69, 73",
    ),
    _of(
        "Compatibility",
        "While brokers are upgraded, new ones store ids and old ones none.",
        _JUDGED,
        ("stored topic id", "version of a stored commit"),
        note="txn_offset_commit, part `upgrade`, has brokers of 4.3.1 and 4.4.0; that old ones"
        " store none is counted (docs/committed-offsets.md), and no rule requires it",
        second="001: 70",
    ),
    _of(
        "Compatibility",
        "Clients with older versions see no change.",
        _JUDGED,
        (
            "group not found, before its error",
            "stale member epoch, before its error",
            "accepted commit",
        ),
        note="txn_offset_commit, part `wire`",
        second="001: 72",
    ),
)

RULES_OF_KIP_1319 = {
    "unknown topic id": "001: 2, 30, 36, 40",
    "group not found": "001: 3, 28, 31, 45",
    "stale member epoch": "001: 4, 13, 29, 34",
    "group not found, before its error": "001: 7, 33, 38, 46",
    "stale member epoch, before its error": "001: 35",
    "unknown partition": "001: 37, 42",
    "accepted commit": "001: 32",
    "stored topic id": "001: 6, 47",
    "topics first": "001: 39, 43-44",
}
"""By rule: the statements of the second list that it is about."""
