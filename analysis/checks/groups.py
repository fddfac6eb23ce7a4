"""Members of groups: where they start, and whether one partition has two owners."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import AT_COMMIT, Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.assignments import ASSIGNMENT, assignments, commits_at_start
from analysis.facts.client_offsets import COMMIT, COMMIT_CLOCK_MICROS
from analysis.facts.deliveries import client_resets, deliveries
from analysis.facts.faults import with_faults
from analysis.facts.positions import PARTITION, all_offsets, offsets_of
from analysis.facts.progress import never_delivered
from analysis.facts.topics import created_once
from analysis.facts.trace import Trace
from contract.clients import Client
from contract.outcomes import NOT_A_MEMBER, Outcome
from contract.tables import MICROS_PER_MS, MICROS_PER_SECOND

_NOT_THE_OWNER = Cases(
    violation(
        "in turn",
        "{member} committed after {owner}, which was assigned the partition later, had committed"
        " {owner_offset}",
        when="is_in_turn",
    ),
    violation(
        "not the owner",
        "{member} committed while {owner} owned the partition",
        undecided_if="committed_by_owner > 0",
    ),
    evidence=(
        "member, generation, owner, owned_micros, owner_offset, committed_epoch, committed_by_owner"
    ),
    **AT_COMMIT,
)


def commit_from_old_generation(trace: Trace) -> CheckOutcome:
    """A member's commit was stored after another member had been assigned the partition.

    The other member was assigned it under a newer generation (or member epoch), whether or not it
    still held it. If a generation is not known, the other member was assigned it after the
    committer, and had not given it back. Whatever the generations, a member may not commit any more
    (`in turn`) once the commit of a member that was assigned the partition later was acknowledged.

    Undecided: the other member committed the same offset too, and not before the commit began.
    Evaluates: acknowledged commits on partitions that several members of the group owned in turn.
    Source: KIP-848; `ConsumerGroup.validateOffsetCommit`: the coordinator must answer
        ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.
    """
    key = (
        *PARTITION,
        "member",
        "seq",
        "offset",
        "committed_epoch",
        "committed_micros",
        "began_micros",
        "generation",
    )
    answered = (
        trace["commits"]
        .where(F.col("outcome") == str(Outcome.OK))
        .withColumn("began_micros", F.coalesce("began_micros", "committed_micros"))
    )
    owners = _with_first_commit(
        assignments(trace).selectExpr(
            *PARTITION,
            "member as owner",
            "generation as owner_generation",
            "from_micros as owned_micros",
            "left_micros as given_micros",
        ),
        answered,
    )
    shared = (
        owners.groupBy(*PARTITION)
        .agg(F.count_distinct("owner").alias("owners"))
        .where("owners > 1")
        .select(*PARTITION)
    )
    commits = answered.join(shared, on=list(PARTITION), how="left_semi").selectExpr(
        *key[:-1], "coalesce(generation, -1) as generation"
    )
    own = assignments(trace).select(*PARTITION, "member", "from_seq", "from_micros")
    is_known = "generation >= 0 and owner_generation >= 0"
    is_newer = (
        f"if({is_known}, owner_generation > generation, owned_micros > own_micros"
        " and (given_micros is null or given_micros > committed_micros))"
    )
    is_in_turn = (
        f"owned_micros > own_micros + {trace.clock_micros}"
        f" and took_micros + {trace.clock_micros} < began_micros"
    )
    overtaken = (
        commits.join(own, on=[*PARTITION, "member"], how="inner")
        .where("from_seq <= seq")
        .groupBy(*key)
        .agg(F.max("from_micros").alias("own_micros"))
        .join(owners, on=list(PARTITION), how="inner")
        .where(f"owner != member and owned_micros + {trace.clock_micros} < committed_micros")
        .withColumn("is_in_turn", F.expr(f"coalesce({is_in_turn}, false)"))
        .where(f"is_in_turn or {is_newer}")
        .groupBy(*key)
        .agg(
            F.max("owned_micros").alias("owned_micros"),
            F.max("owner").alias("owner"),
            F.max("is_in_turn").alias("is_in_turn"),
            F.expr("max_by(owner_offset, took_micros) filter (where is_in_turn)").alias(
                "owner_offset"
            ),
        )
    )
    stored = all_offsets(trace).select(
        *PARTITION, "offset", F.col("committed_micros").alias("stored_micros")
    )
    by_owner = commits.select(
        *PARTITION,
        "offset",
        F.col("member").alias("owner"),
        F.col("committed_micros").alias("owner_micros"),
    )
    found = (
        overtaken.join(stored, on=[*PARTITION, "offset"], how="inner")
        .where(f"stored_micros > owned_micros + {trace.clock_micros}")
        .where(f"stored_micros <= committed_micros + {trace.clock_micros}")
        .join(by_owner, on=[*PARTITION, "offset", "owner"], how="left")
        .groupBy(*key, "owner", "owned_micros", "is_in_turn", "owner_offset")
        .agg(F.count_if(F.col("owner_micros") > F.col("owned_micros")).alias("committed_by_owner"))
    )
    return CheckOutcome(findings(found, _NOT_THE_OWNER), count(commits))


def _with_first_commit(owners: Frame, answered: Frame) -> Frame:
    """Add took_micros and owner_offset: of the owner's first commit since; null without one."""
    committed = answered.select(
        *PARTITION,
        F.col("member").alias("owner"),
        F.col("committed_micros").alias("_took"),
        F.col("offset").alias("_offset"),
    )
    since = "filter (where _took > owned_micros)"
    return (
        owners.join(committed, on=[*PARTITION, "owner"], how="left")
        .groupBy(*owners.columns)
        .agg(
            F.expr(f"min(_took) {since}").alias("took_micros"),
            F.expr(f"min_by(_offset, _took) {since}").alias("owner_offset"),
        )
    )


_OVERLAP = "{member} received records for {overlap_ms:.0f} ms after {other} had received its first"
_STILL = (
    "{member} received {records} records, {seconds:.1f} s after {told_by}; {other} had been"
    " assigned the partition"
)
_TWO_OWNERS = Cases(
    violation("after its revocation", _STILL, when="told_by = 'it was revoked'"),
    undecided("after a refusal", _STILL, when="told_by is not null and not is_at_once"),
    violation("after a refusal", _STILL, when="told_by is not null", permitted_if="faults > 0"),
    violation(
        "one generation",
        "{member} and {other} were both assigned the partition in generation {generation}",
        when="is_same",
        undecided_if="is_replaced and told_micros is null",
    ),
    undecided("overlap", _OVERLAP, when="is_close"),
    violation("overlap", _OVERLAP, permitted_if="faults > 0"),
    evidence="member, generation, other, other_generation, overlap_ms, faults, records",
    at="at_micros",
)


_NUMBER = "regexp_extract({}, '[.]([0-9]+)$', 1)"
_IS_SUCCESSOR = f"is_static and {_NUMBER.format('member')} = {_NUMBER.format('other')}"
"""Whether `other` has the group.instance.id of `member`."""
_HEARTBEAT_MICROS = 3 * MICROS_PER_SECOND
"""The default of heartbeat.interval.ms: so long a fenced member may not know."""
_IS_SUCCEEDED = (
    "coalesce(last_micros <= other_from, true) or is_replaced and last_micros <="
    f" coalesce(told_micros, other_from + {_HEARTBEAT_MICROS})"
)
"""Whether the older process got nothing since, or only what it had before it could know."""


def double_ownership(trace: Trace) -> CheckOutcome:
    """Two members of a group owned a partition at the same time.

    Both were assigned it under one generation (or member epoch), before the first gave it back: a
    violation. Under different ones, the older member learns only when it polls that it was
    expelled, which is no fault of the group. If a generation is not known, both were delivered its
    records at the same time. A partition that a KIP-848 member keeps across member epochs counts
    only under the one in which it was assigned: two owners of such a partition are not found. A
    static member that is started again keeps its partitions under the same generation. With the
    classic protocol another process with its group.instance.id takes its place at once: the older
    one may deliver what it has until the response to its next request, or for 3 s
    (`heartbeat.interval.ms`) if none is on record. Whatever the generations, a member is delivered
    nothing more of a partition that it has given back, or for which the coordinator has refused
    its commit as that of no member, once another member was assigned it.

    Permitted: a generation is not known, and a fault was in force between the first assignment and
        the end of the overlap; or its commit was refused, and a fault was in force: a client that
        does not reach its coordinator goes on with what it has.
    Undecided: a generation is not known, and the overlap is no longer than the clock bound; or the
        older process of a group.instance.id delivered for longer, and no request of it is on
        record; or its commit was refused, and its client rejoins in a thread of its own.
    Evaluates: pairs of assignments of a partition to different members.
    Source: KIP-345, KIP-429, KIP-848: a partition is assigned only after its owner gave it up;
        `ConsumerRebalanceListener`; `ConsumerCoordinator.onJoinPrepare`.
    """
    owned = assignments(trace)
    other = owned.selectExpr(
        *PARTITION,
        "member as other",
        "generation as other_generation",
        "from_micros as other_from",
        "first_micros as other_first",
        "last_micros as other_last",
    )
    is_known = "generation >= 0 and other_generation >= 0"
    static = [group for group in trace.plan.groups if group.is_static]
    classic = [group.group for group in static if group.client != Client.JAVA_CONSUMER]
    succeeding = (
        owned.join(other, on=list(PARTITION), how="inner")
        .where("member != other and (from_micros, member) < (other_from, other)")
        .withColumn("is_static", F.col("group").isin([group.group for group in static]))
        .withColumn("is_replaced", F.col("group").isin(classic) & F.expr(_IS_SUCCESSOR))
    )
    pairs = (
        _with_told(succeeding, trace)
        .withColumn("is_succeeded", F.expr(f"{_IS_SUCCESSOR} and ({_IS_SUCCEEDED})"))
        .selectExpr(
            "*",
            f"{is_known} and generation = other_generation"
            " and (left_micros is null or left_micros > other_from)"
            " and not is_succeeded as is_same",
            f"{is_known} and generation != other_generation as is_older",
            "coalesce(other_first <= last_micros, false) and not (is_replaced and is_succeeded)"
            " as is_overlapping",
        )
        .where("is_same or (first_micros is not null and other_first is not null)")
    )
    overlapping = pairs.where("is_same or (is_overlapping and not is_older)").selectExpr(
        *ASSIGNMENT,
        "generation",
        "other",
        "other_generation",
        "is_same",
        "is_replaced",
        "told_micros",
        "from_micros",
        "if(is_overlapping, other_first, other_from) as at_micros",
        "if(is_overlapping, least(last_micros, other_last), other_from) as until_micros",
    )
    overlaps = with_faults(
        overlapping, trace, since="from_micros", until="until_micros"
    ).selectExpr(
        "*",
        f"(until_micros - at_micros) / {MICROS_PER_MS} as overlap_ms",
        f"until_micros - at_micros <= {trace.clock_micros} as is_close",
    )
    found = overlaps.unionByName(_delivered_since(trace), allowMissingColumns=True)
    return CheckOutcome(findings(found, _TWO_OWNERS), count(pairs))


def _delivered_since(trace: Trace) -> Frame:
    """What members were delivered of a partition after a response or a callback took it away.

    Rows: PARTITION, member, other, told_by, is_at_once, records, seconds, at_micros, faults,
    offset_first, offset_last.
    """
    of_member = (*PARTITION, "member")
    answers = (
        trace["group_events"]
        .where("change in ('assigned', 'revoked', 'lost')")
        .selectExpr(
            *of_member,
            "seq",
            "at_micros as told_micros",
            "if(change = 'assigned', null, 'it was revoked') as told_by",
        )
        .union(
            trace.present("commits")
            .where(f"replace(error, '_', '') rlike '(?i)^({'|'.join(NOT_A_MEMBER)})'")
            .selectExpr(
                *of_member,
                "seq",
                "committed_micros as told_micros",
                "concat('its commit was refused: ', error) as told_by",
            )
        )
    )
    given = deliveries(trace).selectExpr(
        *of_member, "seq", "at_micros", "first_offset", "last_offset", "records"
    )
    in_order = Window.partitionBy(*of_member).orderBy("seq")
    at_once = [group.group for group in trace.plan.groups if group.client == Client.JAVA]
    since = (
        given.unionByName(answers, allowMissingColumns=True)
        .withColumn(
            "_told",
            F.last(
                F.expr("if(told_micros is null, null, struct(told_micros, told_by))"),
                ignorenulls=True,
            ).over(in_order),
        )
        .where("first_offset is not null and _told.told_by is not null")
        .selectExpr(
            *of_member,
            "_told.told_micros as told_micros",
            "_told.told_by as told_by",
            *("at_micros", "first_offset", "last_offset", "records"),
        )
    )
    others = assignments(trace).selectExpr(
        *PARTITION, "member as other", "from_micros as other_from", "left_micros as other_left"
    )
    is_anothers = (
        f"other != member and other_from + {trace.clock_micros} < at_micros"
        " and coalesce(other_left > at_micros, true)"
    )
    found = (
        since.join(others, on=list(PARTITION), how="inner")
        .where(is_anothers)
        .groupBy(*since.columns)
        .agg(F.max("other").alias("other"))
        .groupBy(*of_member, "told_micros", "told_by", "other")
        .agg(
            F.min("first_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("at_micros").alias("at_micros"),
            F.max("at_micros").alias("_last"),
        )
        .selectExpr("*", f"(_last - told_micros) / {MICROS_PER_SECOND} as seconds")
    )
    return with_faults(found, trace, since="told_micros", until="_last").withColumn(
        "is_at_once", F.col("group").isin(at_once)
    )


def _with_told(pairs: Frame, trace: Trace) -> Frame:
    """Add told_micros: when the older member had a response to a request sent since; null if none.

    Of pairs in which the other member has its group.instance.id.
    """
    told = (
        trace.present("commits")
        .where("outcome != 'nothing'")
        .selectExpr("group", "member", "began_micros as asked", "committed_micros as told")
        .union(
            trace["group_events"]
            .where("change in ('failed', 'revoked', 'lost')")
            .selectExpr("group", "member", "at_micros as asked", "at_micros as told")
        )
    )
    key = (*ASSIGNMENT, "other", "other_from")
    found = (
        pairs.where("is_replaced")
        .select(*key)
        .join(told, on=["group", "member"], how="inner")
        .where(f"asked > other_from + {trace.clock_micros}")
        .groupBy(*key)
        .agg(F.min("told").alias("told_micros"))
    )
    return pairs.join(found, on=list(key), how="left")


_IS_AHEAD = "start > committed_offset"
_BEGAN = "the member began at {start}, but the group had committed {committed_offset}"
_ABORTED = f"{_BEGAN}; an aborted transaction had committed that position"
_BEGAN_ELSEWHERE = Cases(
    permitted(
        "{reset_cause}", f"{_BEGAN}; a reset moved the position", when="reset_cause is not null"
    ),
    violation(
        "ahead",
        _ABORTED,
        when=f"{_IS_AHEAD} and is_aborted",
    ),
    violation("behind", _ABORTED, when="is_aborted"),
    violation("ahead", _BEGAN, when=_IS_AHEAD),
    violation("behind", _BEGAN),
    evidence="member, start, committed_offset, committed_epoch, reset_cause, records",
    offset_first="least(start, committed_offset)",
    offset_last="greatest(start, committed_offset)",
    at="coalesce(first_micros, from_micros)",
)


def start_mismatch(trace: Trace) -> CheckOutcome:
    """A member's first position on a partition is not the offset that its group had committed.

    The first position is that of the first delivery, or the member's own if there was none. A start
    behind the commit is a mismatch. A start ahead of it is one only if the group thereby never got
    records, or if an aborted transaction had stored that offset and the group thereby went past
    records that it would have got again. A commit that was lost since may have been in force then,
    so that a start there is right, too.

    Permitted: the member was reset after its previous assignment and before that delivery.
    Evaluates: every assignment with a commit before it.
    Source: `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`.
    """
    begun = commits_at_start(trace)
    apart = begun.selectExpr("*", "coalesce(first_offset, position) as start").where(
        "start != committed_offset and coalesce(start != gone_offset, true)"
    )
    times = ("before_micros", "from_micros", "first_micros")
    key = (*ASSIGNMENT, *times, "start", "committed_offset", "committed_epoch")
    resets = client_resets(trace).select(
        *PARTITION,
        "member",
        F.col("at_micros").alias("reset_micros"),
        F.col("cause").alias("reset_cause"),
    )
    reported = (
        apart.join(resets, on=[*PARTITION, "member"], how="left")
        .groupBy(*key)
        .agg(
            F.expr(
                "max_by(reset_cause, reset_micros) filter (where"
                " reset_micros > coalesce(before_micros, 0) and reset_micros <="
                f" coalesce(first_micros, from_micros) + {COMMIT_CLOCK_MICROS})"
            ).alias("reset_cause")
        )
    )
    found = _with_aborted(_with_gaps(trace.engine.materialized(reported), trace), trace).where(
        "start < committed_offset or reset_cause is not null or records > 0 or is_aborted"
    )
    return CheckOutcome(findings(found, _BEGAN_ELSEWHERE), count(begun))


def _with_gaps(apart: Frame, trace: Trace) -> Frame:
    """Add records: how many of those between commit and start the group never got."""
    gaps = (
        never_delivered(trace)
        .select(*PARTITION, "offset", "records")
        .distinct()
        .join(
            apart.select(*ASSIGNMENT, "start", "committed_offset").distinct(),
            on=list(PARTITION),
            how="inner",
        )
        .where("offset >= committed_offset and offset < start")
        .groupBy(*ASSIGNMENT)
        .agg(F.sum("records").alias("records"))
    )
    return apart.join(gaps, on=list(ASSIGNMENT), how="left").withColumn(
        "records", F.coalesce("records", F.lit(0))
    )


def _with_aborted(apart: Frame, trace: Trace) -> Frame:
    """Add is_aborted: whether an aborted transaction had stored where the member began.

    And the group had been given a record between the commit and that, so that there are some that
    it may see.
    """
    aborted = (
        all_offsets(trace)
        .where("marker <=> 'abort' and not is_tombstone")
        .select(*PARTITION, F.col("offset").alias("start"), "committed_micros")
    )
    seen = deliveries(trace).select(
        *PARTITION, "last_offset", F.col("first_offset").alias("_first"), "at_micros"
    )
    found = (
        apart.select(*ASSIGNMENT, "from_micros", "start", "committed_offset")
        .join(aborted, on=[*PARTITION, "start"], how="inner")
        .where("committed_micros <= from_micros")
        .join(seen, on=list(PARTITION), how="inner")
        .where("last_offset >= committed_offset and _first < start and at_micros <= from_micros")
        .select(*ASSIGNMENT, F.expr("true").alias("is_aborted"))
        .distinct()
    )
    return apart.join(found, on=list(ASSIGNMENT), how="left").withColumn(
        "is_aborted", F.coalesce("is_aborted", F.expr("false"))
    )


_EXPIRED = Cases(
    violation("had members", "the committed offset was removed while the group had members"),
    undecided(
        "may have had members",
        "the committed offset was removed, and no stored state shows whether the group had members",
    ),
    permitted("had no members", "the committed offset was removed after the last member had left"),
    evidence="members, protocol",
    at="committed_micros",
)


def offsets_expired(trace: Trace) -> CheckOutcome:
    """A committed offset was removed, though the group had members, which subscribe the topic.

    Its members are those of the stored state of the group that precedes the removal in the log.
    Groups without a stored state have no members that a coordinator knows: their consumers are
    assigned by hand.

    Permitted: the group had no members.
    Undecided: no stored state of the group is known, and a member of it was open.
    Evaluates: every commit that was removed, of topics that were created once.
    Source: KIP-211: offsets expire once a group is empty, or of topics that no member subscribes.
    """
    removed = (
        offsets_of(trace)
        .where("is_tombstone")
        .join(created_once(trace), on=["topic", "partition"], how="left_semi")
        .join(trace.readers.select("group", "topic").distinct(), on=["group", "topic"])
    )
    states = (
        removed.select(*COMMIT)
        .join(
            trace["group_members"].selectExpr(
                "group",
                "protocol",
                "member",
                "generation",
                "offsets_partition",
                "offsets_offset as state_offset",
            ),
            on=["group", "offsets_partition"],
            how="inner",
        )
        .where("state_offset < offsets_offset")
    )
    last = Window.partitionBy(*COMMIT, F.expr("if(protocol = 'classic', '', member)")).orderBy(
        F.desc("state_offset")
    )
    known = (
        states.withColumn("_rank", F.rank().over(last))
        .where("_rank = 1")
        .groupBy(*COMMIT)
        .agg(
            F.expr(
                "count(distinct if(member != '' and generation is not null, member, null))"
            ).alias("members"),
            F.max("protocol").alias("protocol"),
        )
    )
    opened = (
        removed.select(*COMMIT, "committed_micros")
        .join(
            trace["group_events"]
            .where("change in ('opened', 'closed')")
            .select("group", "change", "at_micros"),
            on="group",
            how="inner",
        )
        .where("at_micros <= committed_micros")
        .groupBy(*COMMIT)
        .agg(F.max_by("change", "at_micros").alias("last_change"))
    )
    found = (
        removed.join(known, on=list(COMMIT), how="left")
        .join(opened, on=list(COMMIT), how="left")
        .withColumn(
            "kind",
            F.expr(
                "case when members > 0 then 'had members'"
                " when members is null and last_change = 'opened' then 'may have had members'"
                " else 'had no members' end"
            ),
        )
    )
    return CheckOutcome(findings(found, _EXPIRED), count(removed))


CHECKS = (
    CheckDefinition(
        "D12",
        offsets_expired,
        needs=("committed_offsets", "group_members", "group_events"),
        cases=_EXPIRED,
    ),
    CheckDefinition(
        "D4",
        commit_from_old_generation,
        needs=("group_events", "commits", "committed_offsets"),
        cases=_NOT_THE_OWNER,
    ),
    CheckDefinition("D5", double_ownership, needs=("group_events", "polls"), cases=_TWO_OWNERS),
    CheckDefinition(
        "D7",
        start_mismatch,
        needs=("group_events", "committed_offsets", "polls"),
        cases=_BEGAN_ELSEWHERE,
    ),
)
