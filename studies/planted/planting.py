"""Plants bugs into a drawn plan, and looks for them among the findings of its run."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
from msgspec.structs import replace

from contract.checks import Check
from contract.findings import FINDINGS_FILE
from contract.outcomes import Manner
from contract.run_folder import GroupPlan, MemberPlan, RunFolder
from contract.verdicts import FindingVerdict
from harness.plans.plan import RandomPlan, Step, When, of_other_groups, waiting_for

_FILE = Path(__file__).with_name("planted.yml")


class PlantedGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group. `first`: its first member, where that has another client."""

    group: str
    client: str
    commit_epoch: str
    members: int = 1
    first: MemberPlan | None = None


class Bug(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is planted.

    checks: that are predicted to name it.
    groups: of which a finding of these checks is one of the bug; of any if there are none.
    is_told: a permitted finding counts as well as a violation.
    """

    name: str
    what: str
    checks: list[Check]
    groups: list[str]
    is_told: bool = False


class Planted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is planted into a plan, as planted.yml says."""

    partitions_on: list[int]
    min_insync: int
    is_unclean: bool
    asked: str
    groups: list[PlantedGroup]
    bugs: list[Bug]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a planted bug; `verdict`: the worst of those of the check."""

    bug: str
    check: str
    kind: str
    verdict: str
    cause: str


@cache
def planted() -> Planted:
    """What is planted."""
    return msgspec.yaml.decode(_FILE.read_bytes(), type=Planted)


def with_planted(plan: RandomPlan) -> RandomPlan:
    """A drawn plan with the planted groups in place of its own, and the planted topic.

    The steps of its groups are those of planted ones, which begin at another one in each plan.
    """
    what = planted()
    names = [one.group for one in what.groups]
    instead = {
        group.group: names[(plan.seed + number) % len(names)]
        for number, group in enumerate(plan.groups)
    }
    return replace(
        plan,
        topic=replace(
            plan.topic,
            replication=len(what.partitions_on),
            min_insync=what.min_insync,
            unclean_election=False,
        ),
        groups=tuple(_group(one, plan) for one in what.groups),
        steps=tuple(_step(step, instead, plan.topic.partitions) for step in plan.steps),
    )


def _group(one: PlantedGroup, plan: RandomPlan) -> GroupPlan:
    return GroupPlan(
        group=one.group,
        client=one.client,
        topic=plan.topic.topic,
        commit_epoch=one.commit_epoch,
        reset=plan.groups[0].reset,
        members=one.members,
        manner=Manner.SYNC,
        others={} if one.first is None else {1: one.first},
    )


def _step(step: Step, instead: dict[str, str], partitions: int) -> Step:
    """A step about the planted groups; some have more members than there are partitions."""
    mine = of_other_groups(step, instead)
    members = {one.group: one.members for one in planted().groups}
    if mine.when is When.ASSIGNED and members[mine.awaited] > partitions:
        mine = waiting_for(mine, When.PROVED)
    return replace(mine, is_rolling=mine.is_rolling and members[mine.group] <= partitions)


def found_in(run: RunFolder) -> list[Found]:
    """The planted bugs that the findings of a judged run show, each once."""
    rows = pq.read_table(run.report / FINDINGS_FILE).to_pylist()
    found = {}
    for bug in planted().bugs:
        of_bug = [
            row
            for row in rows
            if row["check"] in bug.checks
            and (row["verdict"] == FindingVerdict.VIOLATION or _is_told(bug, row["verdict"]))
            and (not bug.groups or row["group"] in bug.groups)
            and _is_of_acks_all(bug, row["evidence"])
        ]
        if of_bug:
            worst = min(of_bug, key=lambda row: row["verdict"] != FindingVerdict.VIOLATION)
            found[bug.name] = Found(
                bug=bug.name,
                **{name: worst[name] for name in ("check", "kind", "verdict", "cause")},
            )
    return list(found.values())


def _is_told(bug: Bug, verdict: str) -> bool:
    return bug.is_told and verdict == FindingVerdict.PERMITTED


def _is_of_acks_all(bug: Bug, evidence: str) -> bool:
    """Whether a lost record was acknowledged by all in sync."""
    if Check.LOST_RECORD not in bug.checks:
        return True
    return msgspec.json.decode(evidence).get("acks") in ("all", "-1")


def unexplained(run: RunFolder) -> list[str]:
    """Violations of a run that are of no planted bug: check, kind and group of each, once."""
    rows = pq.read_table(run.report / FINDINGS_FILE).to_pylist()
    expected: Iterable[tuple[str, str]] = [
        (check, group) for bug in planted().bugs for check in bug.checks for group in bug.groups
    ]
    of_any = {check for bug in planted().bugs if not bug.groups for check in bug.checks}
    return sorted(
        {
            f"{row['check']} ({row['kind']}) {row['group'] or ''}".strip()
            for row in rows
            if row["verdict"] == FindingVerdict.VIOLATION
            and row["check"] not in of_any
            and (row["check"], row["group"]) not in expected
        }
    )
