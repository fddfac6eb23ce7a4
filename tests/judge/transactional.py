"""Rows of micro-histories with transactions, and how they are judged."""

from dataclasses import replace
from typing import Any

import msgspec
from conftest import TraceMaker
from histories import explained
from judging import judge
from micro import Row, sent

from contract.checks import Check
from contract.outcomes import Isolation
from contract.verdicts import CheckResult

Rows = dict[str, Any]


def result(make_trace: TraceMaker, check: Check, rows: Rows, **plan: Any) -> CheckResult:
    """What one check finds where the only group reads committed values."""
    trace = make_trace(rows, checks=(check,), **plan)
    (group,) = trace.plan.groups
    committed = msgspec.structs.replace(group, isolation=Isolation.READ_COMMITTED)
    planned = msgspec.structs.replace(trace.plan, groups=[committed])
    return explained(judge(replace(trace, plan=planned)).checks[check])


def step(
    name: str,
    change: str,
    epoch: int,
    *,
    at: int,
    producer: str = "p",
    transaction: int | None = 0,
    outcome: str = "ok",
    error: str | None = None,
    worker: str = "w",
    state: str = "",
    producer_id: int = 7,
) -> Row:
    """A step of a transactional producer."""
    return {
        "worker": worker,
        "producer": producer,
        "transactional_id": f"x{producer_id}",
        "transaction": transaction,
        "step": name,
        "change": change,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "state": state,
        "outcome": outcome,
        "error": error,
        "seq": at,
        "began_micros": at,
        "at_micros": at,
    }


def wrote(
    *offsets: int, at: int, producer: str = "p", outcome: str = "ok", **fields: Any
) -> list[Row]:
    """Sends within transaction 0, one an offset."""
    return [
        {**row, "transaction": 0, "outcome": outcome, "error": None, **fields}
        for row in sent(*offsets, producer=producer, at=at)
    ]


def batch(first: int, last: int, epoch: int, control: str | None = None, **fields: Any) -> Row:
    """A batch of a transaction, or the control record that ends one."""
    return {
        "broker": 1,
        "topic": "t",
        "partition": 0,
        "base_offset": first,
        "last_offset": last,
        "leader_epoch": 0,
        "producer_id": 7,
        "producer_epoch": epoch,
        "base_sequence": 0,
        "is_control": control is not None,
        "is_transactional": True,
        "record_count": last - first + 1,
        "control_type": control,
        **fields,
    }
