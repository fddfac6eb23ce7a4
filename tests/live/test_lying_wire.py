"""A proxy on the wire that lies about one response after the other: lying_wire_test.py."""

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import POOL, finished, ran
from wire_lies import lies

from contract.protocol import RULES, Rule
from contract.run_folder import find_runs
from harness.session.catalog import read_scenario
from scenarios.epoch_protocol_test import Epochs

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

SCENARIO = Path(__file__).with_name("lying_wire_test.py")
LIES = lies(Epochs(0, 1, 2, 3), "an-id")
OF_EPOCH_PROTOCOL = [
    "wrong_epoch_error",
    "wrong_epoch_end",
    "wrong_diverging_epoch",
    "wrong_reported_epoch",
    "wrong_authorization",
    "malformed_response",
]


def test_every_rule_of_epoch_protocol_has_a_lie() -> None:
    rules = {rule for rule, one in RULES.items() if one.check in OF_EPOCH_PROTOCOL}
    assert {lie.rule for lie in LIES} == rules


def test_each_lie_breaks_its_rule_and_no_other(tmp_path: Path) -> None:
    folder = ran(read_scenario(SCENARIO), tmp_path, POOL)
    (run,) = find_runs(folder)
    assert run.run().error is None
    code, said = finished("analyze", str(run.path))
    assert code == 1, said
    rows = pq.read_table(run.report / "findings.parquet").to_pylist()
    found = Counter(
        (row["check"], row["kind"], row["verdict"])
        for row in rows
        if row["check"] in OF_EPOCH_PROTOCOL
    )
    broken = [rule for lie in LIES for rule in (lie.rule, *lie.also)]
    assert found == Counter((str(RULES[rule].check), str(rule), "violation") for rule in broken)
    verdict = json.loads((run.report / "verdict.json").read_text())
    told = {row["rule"] for row in verdict["rules"] if row["verdict"] == "violated"}
    assert told == {str(rule) for rule in Rule if rule in RULES and rule in broken}
