"""Micro-histories that several tests judge, by what the group `g` lived through."""

from typing import Any

from conftest import TraceMaker
from judging import judge
from micro import (
    appended,
    batch,
    changed,
    clock,
    commit,
    committed,
    epochs,
    led,
    log_bounds,
    polled,
    registered,
    reported_commit,
    reset_reported,
    sampled,
    sent,
    survived,
    truncated,
)

from analysis.statements.registry import CHECKS
from contract.terms import Check
from contract.verdicts import CheckResult, Finding, FindingVerdict

# Epoch 0 ends at 2; epoch 1 rewrote 2 and 3. The group read 0-3 of epoch 0, then went on from 4.
TRUNCATED = {
    "sends": [*sent(0, 1, 2, 3), *sent(2, 3, 4, 5, producer="q", at=400)],
    "replica_records": [*survived(0, 1), *survived(2, 3, 4, 5, epoch=1, producer="q")],
    "epoch_checkpoints": epochs((0, 0), (1, 2)),
    "leaderships": [led(0, at=10), led(1, at=250, leader=2)],
    "log_starts": log_bounds(0, 6),
}
WENT_ON = {
    **TRUNCATED,
    "polls": [*polled(0, 1, 2, 3), *polled(4, 5, epoch=1, producer="q", life=2, at=600)],
    "committed_offsets": [committed(4, 1)],
    "group_events": [
        changed("opened", at=150),
        changed("caught_up", at=210, position=4),
        changed("opened", life=2, at=450),
        changed("caught_up", life=2, at=650, position=6),
    ],
}
# It committed without an epoch, and began there.
EPOCHLESS = {
    **WENT_ON,
    "committed_offsets": [committed(4, -1)],
    "group_events": [*WENT_ON["group_events"], changed("assigned", life=2, at=590, position=4)],
}
WENT_BACK = {
    **WENT_ON,
    "polls": [*polled(0, 1, 2, 3), *polled(2, 3, 4, 5, epoch=1, producer="q", life=2, at=600)],
    "committed_offsets": [committed(4, 0)],
    "resets": [reset_reported("truncation", 4, 0, 2)],
}
# It was told to go on at 6, above what it had not read of the surviving branch.
JUMPED = {
    **WENT_ON,
    "polls": polled(0, 1, 2, 3),
    "resets": [reset_reported("out_of_range", 4, -1, 6, policy="latest")],
}
HEALTHY = {
    "sends": sent(0, 1, 2, 3),
    "replica_records": survived(0, 1, 2, 3),
    "epoch_checkpoints": epochs((0, 0)),
    "leaderships": [led(0, at=10)],
    "broker_states": [registered(fenced=False, at=5)],
    "log_starts": log_bounds(0, 4),
    "polls": [*polled(0, 1), *polled(2, 3, life=2, at=600)],
    "committed_offsets": [committed(2, 0)],
    "resets": [reset_reported("no_commit", 0, -1, 0, life=1, at=160)],
    "group_events": [
        *WENT_ON["group_events"][:1],
        changed("caught_up", at=210, position=2),
        changed("opened", life=2, at=450),
        changed("caught_up", life=2, at=650, position=4),
    ],
    "faults": [
        {
            "fault": "kill",
            "target_kind": "all",
            "brokers": [],
            "transactional_ids": [],
            "landed": True,
            "injected_micros": 1,
            "evidence": "{}",
        }
    ],
    "phases": [
        {
            "stage": "steady",
            "doing": "this",
            "began_micros": 5,
            "ended_micros": 700,
            "limit_seconds": 100,
        }
    ],
    "histories": [
        {
            "worker": "w",
            "events": 9,
            "missing_seqs": 0,
            "torn_lines": 0,
            "malformed_lines": 0,
            "ended_by_itself": True,
        }
    ],
}


# HEALTHY, with a leader change at 2 and a commit by each of two members in turn.
HANDED_ON = {
    **HEALTHY,
    "sends": [*sent(0, 1), *sent(2, 3, at=600_000)],
    "replica_records": [*survived(0, 1), *survived(2, 3, epoch=1)],
    "epoch_checkpoints": epochs((0, 0), (1, 2)),
    "leaderships": [led(0, at=10), led(1, at=400_000, leader=2)],
    "broker_states": [registered(fenced=False, at=5, broker=broker) for broker in (1, 2)],
    "truncations": [truncated(2, at=450_000)],
    "polls": [*polled(0, 1), *polled(2, 3, epoch=1, life=2, at=700_000)],
    "commits": [reported_commit(2), reported_commit(4, 1, life=2, at=800_000)],
    "committed_offsets": [committed(2, 0), committed(4, 1, at=800_000)],
    "group_events": [
        changed("opened", at=150),
        changed("assigned", at=160, position=0),
        changed("caught_up", at=210, position=2),
        changed("revoked", at=350),
        changed("opened", life=2, at=450_000),
        changed("assigned", life=2, at=500_000, position=2),
        changed("caught_up", life=2, at=750_000, position=4),
    ],
}

# The same with a second replica, and all that whole runs tell besides.
WHOLE = {
    **HEALTHY,
    "replica_records": [*survived(0, 1, 2, 3), *survived(0, 1, 2, 3, broker=2)],
    "replica_batches": [batch(0, 3), batch(0, 3, broker=2)],
    "epoch_checkpoints": [*epochs((0, 0)), *epochs((0, 0), broker=2)],
    "leaderships": [{**led(0, at=10), "isr": [1, 2]}],
    "broker_states": [
        registered(fenced=False, at=5),
        registered(fenced=False, at=6, broker=2),
    ],
    "log_starts": [*log_bounds(0, 4), *log_bounds(0, 4, broker=2)],
    "samples": [sampled(4, at=700)],
    "metadata_batches": [appended(1, 0), appended(2, 0)],
    "commits": [commit(took=0)],
    "clocks": [clock("a", ahead=1000, behind=-1000)],
}

# A leader change and two members, with all that whole runs tell besides.
WHOLE_HANDED_ON = {
    **HANDED_ON,
    **{
        table: WHOLE[table]
        for table in ("broker_states", "log_starts", "metadata_batches", "clocks")
    },
    "replica_records": [
        record
        for broker in (1, 2)
        for record in (*survived(0, 1, broker=broker), *survived(2, 3, epoch=1, broker=broker))
    ],
    "replica_batches": [
        row
        for broker in (1, 2)
        for row in (batch(0, 1, broker=broker), batch(2, 3, epoch=1, broker=broker))
    ],
    "epoch_checkpoints": [*epochs((0, 0), (1, 2)), *epochs((0, 0), (1, 2), broker=2)],
    "leaderships": [
        {**led(0, at=10), "isr": [1, 2]},
        {**led(1, at=400_000, leader=2), "isr": [1, 2]},
    ],
    "samples": [sampled(2, at=300), sampled(4, at=800_000, epoch=1, broker=2, leader=2)],
    "commits": [
        {**reported, "began_micros": reported["committed_micros"]}
        for reported in HANDED_ON["commits"]
    ],
}

# Broker 1 never came back: what it alone holds is lost. Broker 2, the last ISR, has 2 and 3 anew.
LEFT_BEHIND = {
    **TRUNCATED,
    "replica_records": [
        *survived(0, 1, 2, 3),
        *survived(0, 1, broker=2),
        *survived(2, 3, 4, 5, epoch=1, producer="q", broker=2),
    ],
    "epoch_checkpoints": [*epochs((0, 0)), *epochs((0, 0), (1, 2), broker=2)],
    "log_starts": [*log_bounds(0, 4), *log_bounds(0, 6, broker=2)],
}


def result(make_trace: TraceMaker, check: Check, rows: dict[str, Any], **plan: Any) -> CheckResult:
    """What one check finds in a micro-history, and that it says why; `plan` as of `make_trace`."""
    return require_explained(judge(make_trace(rows, checks=(check,), **plan)).checks[check])


def require_explained(reported: CheckResult) -> CheckResult:
    """What a check found: each finding has its cause, and is one of the check's cases."""
    assert all(example.cause and is_declared(example) for example in reported.examples)
    return reported


def is_declared(finding: Finding) -> bool:
    """Whether the check has such a case; those of WITHOUT_STATEMENT declare none.

    A finding that rests on a gap is undecided, whatever its case.
    """
    check = CHECKS.get(Check(finding.check))
    return check is None or any(
        finding.verdict in {*case.verdicts, FindingVerdict.UNDECIDED}
        and (finding.kind == case.kind or not case.is_of_one_kind)
        for case in check.cases
        if finding.kind
    )
