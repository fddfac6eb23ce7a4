"""Requests of principals, and what their access control entries permit."""

from tests.exam.history import NONE, NOT_VIOLATION, UNDECIDED, VIOLATION, History, asks
from tests.exam.verbs import moved

ACLS = "KIP-320, ACL Changes; KafkaApis.handleOffsetForLeaderEpochRequest"
END = "OFFSET_FOR_LEADER_EPOCH"
READER, STRANGER = "User:reader", "User:stranger"
UNAUTHORIZED, CLUSTER_UNAUTHORIZED = 29, 31


@asks(
    "One principal may describe the topic, another may act on the cluster; a third is refused.",
    source=ACLS,
    expects={"wrong_authorization": NONE, "wrong_epoch_error": NONE},
)
def each_principal_gets_what_it_may(h: History) -> None:
    h.permitted(READER, "DESCRIBE", at=1.0)
    h.permitted("User:replica", "CLUSTER_ACTION", at=1.0, topic=None)
    _moved(h)
    _asked(h, READER)
    _asked(h, "User:replica")
    _asked(h, STRANGER, error=UNAUTHORIZED)


@asks(
    "A principal that may read the topic asks, and is answered: Read implies Describe.",
    source="KIP-320, ACL Changes; AclEntry: operations that imply Describe",
    expects={"wrong_authorization": NONE},
)
def read_implies_describe(h: History) -> None:
    h.permitted(READER, "READ", at=1.0)
    _moved(h)
    _asked(h, READER)


@asks(
    "The leader refuses a principal with Describe; it accepted the leader epoch after the entry.",
    source=ACLS,
    expects={"wrong_authorization": VIOLATION},
)
def describe_does_not_suffice(h: History) -> None:
    h.permitted(READER, "DESCRIBE", at=1.0)
    _moved(h)
    _asked(h, READER, error=UNAUTHORIZED)


@asks(
    "The leader refuses a principal with ClusterAction, which sufficed before KIP-320.",
    source=ACLS,
    expects={"wrong_authorization": VIOLATION},
)
def cluster_action_does_not_suffice(h: History) -> None:
    h.permitted(READER, "CLUSTER_ACTION", at=1.0, topic=None)
    _moved(h)
    _asked(h, READER, error=CLUSTER_UNAUTHORIZED)


@asks(
    "The leader responds to a principal that may describe another topic only.",
    source=ACLS,
    expects={"wrong_authorization": VIOLATION},
)
def another_topic_does_not_suffice(h: History) -> None:
    h.permitted(READER, "DESCRIBE", at=1.0, topic="other")
    _moved(h)
    _asked(h, READER)


@asks(
    "The leader refuses a principal with neither as if the cluster were what it asked about.",
    source=ACLS + ": TOPIC_AUTHORIZATION_FAILED",
    expects={"wrong_authorization": VIOLATION},
)
def refusal_has_the_wrong_error(h: History) -> None:
    _moved(h)
    _asked(h, STRANGER, error=CLUSTER_UNAUTHORIZED)


@asks(
    "The entry was created 20 s after the last leader change; the leader refuses the principal.",
    source="AclPublisher.onMetadataUpdate: a broker applies an entry when it comes to it in the "
    "metadata log; decision 22: undecided until a later epoch is accepted",
    expects={"wrong_authorization": UNDECIDED},
)
def entry_may_not_be_applied(h: History) -> None:
    _moved(h)
    h.permitted(READER, "DESCRIBE", at=39.9)
    _asked(h, READER, error=UNAUTHORIZED)


@asks(
    "The entry was removed at 30 s; the principal is refused at 40 s.",
    source="StandardAuthorizerData.removeAcl: an entry that was removed permits nothing",
    expects={"wrong_authorization": NONE},
)
def entry_was_removed(h: History) -> None:
    h.permitted(READER, "DESCRIBE", at=1.0, removed=30.0)
    _moved(h)
    _asked(h, READER, error=UNAUTHORIZED)


@asks(
    "A principal has an entry that allows Describe, and one that denies it.",
    source="AclPermissionType: DENY comes first; the check does not weigh entries",
    expects={"wrong_authorization": NOT_VIOLATION},
)
def entry_denies(h: History) -> None:
    h.permitted(READER, "DESCRIBE", at=1.0)
    h.permitted(READER, "DESCRIBE", at=1.0, permission="DENY")
    _moved(h)
    _asked(h, READER, error=UNAUTHORIZED)


@asks(
    "An error of the epoch is no retriable exception in the client library.",
    source="KIP-320, API Changes",
    expects={"wrong_epoch_error": VIOLATION},
)
def error_is_not_retriable(h: History) -> None:
    h.topic()
    moved(h)
    h.called(
        2,
        END,
        4,
        at=40.0,
        error=74,
        current_leader_epoch=0,
        asked_epoch=0,
        throttle_ms=0,
        is_retriable=False,
    )


@asks(
    "Broker 1 fetches with epoch 0 from the leader of epoch 1, which serves it.",
    source="KIP-320, Replica Handling; KAFKA-6880",
    expects={"wrong_epoch_error": VIOLATION},
)
def zombie_replica_is_served(h: History) -> None:
    h.topic()
    moved(h)
    h.called(
        2,
        "FETCH",
        15,
        at=40.0,
        asked_replica=1,
        current_leader_epoch=0,
        asked_epoch=-1,
        asked_offset=50,
        record_bytes=500,
        diverging_epoch=-1,
        diverging_offset=-1,
    )


@asks(
    "Broker 1 fetches with epochs 0 and 2 from the leader of epoch 1, which refuses both.",
    source="KIP-320, Replica Handling; KAFKA-6880",
    expects={"wrong_epoch_error": NONE},
)
def zombie_replica_is_refused(h: History) -> None:
    h.topic()
    moved(h)
    for epoch, error in ((0, 74), (2, 75)):
        h.called(
            2,
            "FETCH",
            15,
            at=40.0,
            asked_replica=1,
            current_leader_epoch=epoch,
            error=error,
            asked_offset=50,
            is_retriable=True,
        )


def _moved(h: History) -> None:
    h.topic()
    moved(h)
    h.called(
        2,
        END,
        4,
        at=39.0,
        current_leader_epoch=1,
        asked_epoch=1,
        epoch=1,
        offset=100,
        throttle_ms=0,
    )


def _asked(h: History, principal: str, *, error: int = 0) -> None:
    found = {"epoch": -1, "offset": -1} if error else {"epoch": 0, "offset": 50}
    h.called(
        2,
        END,
        4,
        at=40.0,
        principal=principal,
        error=error,
        current_leader_epoch=-1,
        asked_epoch=0,
        throttle_ms=0,
        **found,
    )
