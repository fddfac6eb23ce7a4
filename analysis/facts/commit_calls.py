"""What the cluster had when it answered a request about committed offsets.

All bounds hold at some time between the request and its response: what is sure was so throughout,
what may be was so at some time.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window, literal
from analysis.engine.frames import Frame
from analysis.facts.declared import of_table
from analysis.facts.topics import creations
from analysis.facts.trace import Trace, fact
from contract.commit_rules import COMMIT, OFFSET_FETCH, TXN_COMMIT
from contract.table_columns import boolean, int32, string

CALL = ("worker", "seq", "topic", "partition", "asked_id")
"""The columns that distinguish the partitions of all requests."""
_APIS = ", ".join(map(literal, (COMMIT, TXN_COMMIT, OFFSET_FETCH)))
_GRANTS = "api in ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT')"
_INITIALIZED = "api = 'INIT_PRODUCER_ID' and error_code = 0"


_FLAGS = {
    "is_present": "whether there was the topic throughout",
    "may_exist": "whether there was the topic at some time",
    "has_partition": "whether there was the partition throughout",
    "may_have_partition": "whether there was the partition at some time",
    "has_group": "whether there was the group throughout",
    "may_have_group": "whether there was the group at some time",
    "has_member": "whether its group had the member before",
    "may_have_member": "whether its group had the member at some time",
    "is_gone": "whether its group had lost the member before",
    "may_be_gone": "whether its group may have lost the member",
    "has_members": "whether its group had members throughout",
    "may_have_members": "whether its group had members at some time",
    "is_old_producer": "whether its producer id had a newer epoch throughout",
    "may_be_old_producer": "whether its producer id had a newer epoch at some time",
}


@fact(
    *of_table("wire_calls"),
    string("asked_id", "the topic id of the request; empty where it has the topic's name"),
    *(boolean(name, about) for name, about in _FLAGS.items()),
    string("protocol", "of the group: classic or consumer; null where no members are known"),
    int32("generation_low", "lower bound of the member's epoch, or of the group's generation"),
    int32("generation_high", "upper bound of the same"),
    int32(
        "assignment_epoch",
        "the member epoch at which the partition was assigned to the member; null where it was not,"
        " or the release does not keep it",
    ),
)
def commit_calls(trace: Trace) -> Frame:
    """Rows of `wire_calls` about committed offsets that have a response, with what was known.

    Version 0 of OffsetCommit and OffsetFetch, whose offsets were in ZooKeeper, is left out.
    """
    calls = (
        trace["wire_calls"]
        .where(f"api in ({_APIS}) and topic is not null and error_code is not null")
        .where(f"version > 0 or api = {literal(TXN_COMMIT)}")
        .withColumn("asked_id", F.expr("coalesce(topic_id, '')"))
        .withColumn(
            "_named", F.expr("if(asked_id = '', concat('name ', topic), concat('id ', asked_id))")
        )
        .withColumn("metadata", F.expr("coalesce(metadata, '')"))
        .withColumn("_sure", F.expr(f"began_micros - {trace.clock_micros}"))
        .withColumn("_may", F.expr(f"at_micros + {trace.clock_micros}"))
    )
    found = calls
    for facts in (
        _topics(calls, trace),
        _partitions(calls, trace),
        _groups(calls, trace),
        _generations(calls, trace),
        _members(calls, trace),
        _assignments(calls, trace),
        _producers(calls, trace),
    ):
        found = found.join(facts, on=list(CALL), how="left")
    return found.withColumns({name: F.expr(f"coalesce({name}, 0) = 1") for name in _FLAGS})


def _lives(trace: Trace) -> Frame:
    """(topic, topic_id, _life_micros, _gone_micros): a topic id, and when the next one came."""
    return (
        creations(trace)
        .groupBy("topic", "topic_id")
        .agg(F.min("created_micros").alias("_life_micros"))
        .withColumn(
            "_gone_micros",
            F.lead("_life_micros").over(Window.partitionBy("topic").orderBy("_life_micros")),
        )
    )


def _by_both(rows: Frame, *columns: str) -> Frame:
    """Rows of topics, once by the topic's name and once by its id, as `_named`."""
    return rows.selectExpr("concat('name ', topic) as _named", *columns).union(
        rows.selectExpr("concat('id ', topic_id) as _named", *columns)
    )


def _topics(calls: Frame, trace: Trace) -> Frame:
    lives = _by_both(_lives(trace), "_life_micros", "_gone_micros")
    return (
        calls.select(*CALL, "_named", "_sure", "_may")
        .join(lives, on=["_named"], how="inner")
        .groupBy(*CALL)
        .agg(
            F.expr("max(int(_life_micros <= _sure and _gone_micros is null)) as is_present"),
            F.expr(
                "max(int(_life_micros <= _may and coalesce(_gone_micros > _sure, true)))"
                " as may_exist"
            ),
        )
    )


def _partitions(calls: Frame, trace: Trace) -> Frame:
    created = _by_both(creations(trace), "partition", "created_micros")
    return (
        calls.select(*CALL, "_named", "_sure", "_may")
        .join(created, on=["_named", "partition"], how="inner")
        .groupBy(*CALL)
        .agg(
            F.expr("max(int(created_micros <= _sure)) as has_partition"),
            F.expr("max(int(created_micros <= _may)) as may_have_partition"),
        )
    )


def _groups(calls: Frame, trace: Trace) -> Frame:
    """Whether there is a group: by what is stored of it, and by the responses to its members."""
    stored = trace["committed_offsets"].selectExpr("group", "committed_micros as _known")
    members = trace["group_members"].selectExpr("group", "at_micros as _known")
    joined = trace["wire_calls"].where(f"{_GRANTS} and group is not null")
    known = (
        stored.union(members)
        .union(joined.selectExpr("group", "began_micros as _known"))
        .groupBy("group")
        .agg(F.min("_known").alias("_known"))
    )
    return (
        calls.select(*CALL, "group", "_sure", "_may")
        .join(known, on=["group"], how="inner")
        .selectExpr(
            *CALL, "int(_known <= _sure) as has_group", "int(_known <= _may) as may_have_group"
        )
    )


def _generations(calls: Frame, trace: Trace) -> Frame:
    """Bounds of a member's epoch or its group's generation, which only increase."""
    members = trace["group_members"]
    granted = trace["wire_calls"].where(f"{_GRANTS} and error_code = 0 and generation >= 0")
    told = granted.selectExpr(
        "group",
        "if(api = 'JOIN_GROUP', 'classic', 'consumer') as _protocol",
        "member as _member",
        "generation as _generation",
        "at_micros as _from",
        "true as _is_told",
    )
    logged = members.where("generation is not null").selectExpr(
        "group",
        "protocol as _protocol",
        "member as _member",
        "generation as _generation",
        "at_micros as _from",
        "false as _is_told",
    )
    is_own = "(_protocol = 'classic' or _member = member)"
    is_then = "_from <= if(_is_told, _sure_told, _sure)"
    return (
        calls.select(*CALL, "group", "member", "_sure", "_may", "began_micros")
        .withColumnRenamed("began_micros", "_sure_told")
        .join(told.union(logged), on=["group"], how="inner")
        .where("_from <= _may")
        .groupBy(*CALL)
        .agg(
            F.expr("if(min(_protocol) = max(_protocol), max(_protocol), null) as protocol"),
            F.expr(f"max(int(_member = member and {is_then})) as has_member"),
            F.expr("max(int(_member = member)) as may_have_member"),
            F.expr(f"max(if({is_own} and {is_then}, _generation, null)) as generation_low"),
            F.expr(f"max(if({is_own}, _generation, null)) as generation_high"),
        )
    )


def _members(calls: Frame, trace: Trace) -> Frame:
    """Whether the member, or any, was in the group: by the group's last record, and by responses.

    Each record of a classic group has all its members, and a member of the consumer protocol is
    removed by a record of its own. A member that was admitted by a response may have left since.
    """
    logged = trace["group_members"].selectExpr(
        "group",
        "protocol = 'classic' as _is_classic",
        "member as _member",
        "generation is not null and member != '' as _is_there",
        "at_micros as _from",
        "true as _is_logged",
    )
    told = (
        trace["wire_calls"]
        .where(f"{_GRANTS} and error_code = 0 and generation >= 0")
        .selectExpr(
            "group",
            "false as _is_classic",
            "member as _member",
            "true as _is_there",
            "at_micros as _from",
            "false as _is_logged",
        )
    )
    of_call = Window.partitionBy(*CALL)
    of_member = Window.partitionBy(*CALL, "_member")
    states = {
        "_record_sure": ("_is_classic and _from <= _sure", of_call),
        "_record": ("_is_classic", of_call),
        "_left_sure": ("not _is_there and not _is_classic and _from <= _sure", of_member),
        "_left": ("not _is_there and not _is_classic", of_member),
        "_here_sure": ("_is_there and _is_logged and _from <= _sure", of_member),
        "_here_logged": ("_is_there and _is_logged", of_member),
        "_here": ("_is_there", of_member),
    }
    return (
        calls.select(*CALL, "group", "member", "_sure", "_may")
        .join(logged.union(told), on=["group"], how="inner")
        .where("_from <= _may")
        .withColumns(
            {
                name: F.max(F.expr(f"if({when}, _from, null)")).over(window)
                for name, (when, window) in states.items()
            }
        )
        .where("_member != ''")
        .withColumn("_absent_sure", F.expr("coalesce(greatest(_record_sure, _left_sure), 0)"))
        .withColumn("_absent", F.expr("coalesce(greatest(_record, _left), 0)"))
        .withColumn(
            "_is_live",
            F.expr("coalesce(_here_sure >= _absent_sure and _here_logged >= _absent, false)"),
        )
        .withColumn("_is_own", F.expr("_member = member"))
        .groupBy(*CALL)
        .agg(
            F.expr("max(int(_is_own and _here < _absent_sure)) as is_gone"),
            F.expr("max(int(_is_own and _here < _absent)) as may_be_gone"),
            F.expr("max(int(_is_live)) as has_members"),
            F.expr("max(int(_here >= _absent_sure)) as may_have_members"),
        )
    )


def _assignments(calls: Frame, trace: Trace) -> Frame:
    """The member epoch at which a partition was assigned, if the member's last state has it."""
    states = (
        trace["group_members"]
        .where("protocol = 'consumer'")
        .selectExpr(
            "group",
            "member",
            "topic_id as _held_id",
            "partition as _held",
            "assignment_epoch as _assigned",
            "offsets_offset as _place",
            "at_micros as _from",
        )
    )
    ids = _lives(trace).selectExpr("topic", "topic_id as _id")
    known = (
        calls.select(*CALL, "group", "member", "_may")
        .join(states, on=["group", "member"], how="inner")
        .where("_from <= _may")
        .join(ids, on=["topic"], how="left")
    )
    last = known.groupBy(*CALL).agg(F.max("_place").alias("_last"))
    return (
        known.join(last, on=list(CALL), how="inner")
        .where("_place = _last and _held = partition and _held_id = _id")
        .groupBy(*CALL)
        .agg(F.max("_assigned").alias("assignment_epoch"))
    )


def _producers(calls: Frame, trace: Trace) -> Frame:
    """Whether a newer epoch of the producer id was granted, to a request or to a client."""
    asked = trace["wire_calls"].where(_INITIALIZED)
    grants = asked.selectExpr(
        "producer_id",
        "producer_epoch as _granted",
        "at_micros as _sure_from",
        "began_micros as _from",
    ).union(
        trace["transactions"]
        .where("producer_id >= 0 and outcome = 'ok'")
        .selectExpr(
            "producer_id",
            "producer_epoch as _granted",
            f"at_micros + {trace.clock_micros} as _sure_from",
            f"began_micros - {trace.clock_micros} as _from",
        )
    )
    return (
        calls.select(*CALL, "producer_id", "producer_epoch", "began_micros", "at_micros")
        .join(grants, on=["producer_id"], how="inner")
        .groupBy(*CALL)
        .agg(
            F.expr(
                "max(int(_granted > producer_epoch and _sure_from <= began_micros))"
                " as is_old_producer"
            ),
            F.expr(
                "max(int(_granted > producer_epoch and _from <= at_micros)) as may_be_old_producer"
            ),
        )
    )
