"""A proxy on the wire that changes one response after the other: tampered_wire_test.py."""

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import POOL, ran, run_to_end
from commit_tamperings import ABSENT, FETCHED, PENDING, SIMPLE, CommitFacts
from every_tampering import Facts, every_tampering
from quorum_tamperings import QuorumFacts

from contract.protocol import RULES
from contract.run_folder import find_runs
from harness.session.catalog import read_scenario
from harness.wire.requests import NO_ID
from scenarios.offset_commits import Membership, Producer

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

SCENARIO = Path(__file__).with_name("tampered_wire_test.py")
FACTS = Facts(
    epochs=[0, 1, 2, 3],
    topic_id=NO_ID,
    commits=CommitFacts(
        topic_id=NO_ID,
        epoch=0,
        classic=Membership(group="classic", member="c", generation=1),
        consumer=Membership(group="consumer", member="d", generation=1),
        zombie=Producer(transactional_id="zombie", identity=(1, 0)),
        coordinators=dict.fromkeys(
            (SIMPLE, ABSENT.group, FETCHED, PENDING, "classic", "consumer"), 1
        ),
    ),
    quorum=QuorumFacts(leader=1, follower=2, epoch=2, end=10),
)
TAMPERINGS = every_tampering(FACTS)
OF_RULES = {str(rule.check) for rule in RULES.values()}


def test_every_rule_of_the_protocol_has_a_tampering() -> None:
    assert {tampering.rule for tampering in TAMPERINGS} == set(RULES)


def test_each_tampering_breaks_its_rule_and_no_other(tmp_path: Path) -> None:
    folder = ran(read_scenario(SCENARIO), tmp_path, POOL)
    (run,) = find_runs(folder)
    assert run.run().error is None
    code, said = run_to_end("analyze", str(run.path))
    assert code == 1, said
    rows = pq.read_table(run.report / "findings.parquet").to_pylist()
    found = Counter(
        (row["check"], row["kind"], row["verdict"]) for row in rows if row["check"] in OF_RULES
    )
    broken = [rule for tampering in TAMPERINGS for rule in (tampering.rule, *tampering.also)]
    assert found == Counter((str(RULES[rule].check), str(rule), "violation") for rule in broken)
    verdict = json.loads((run.report / "verdict.json").read_text())
    reported = {row["rule"] for row in verdict["rules"] if row["verdict"] == "violated"}
    assert reported == {str(rule) for rule in RULES}
