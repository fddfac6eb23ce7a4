"""Micro-histories are judged by the checks that their plans must judge, as all would take long."""

import analysis.verdict.judge
from analysis.statements.trace import Trace
from contract.terms import Check
from contract.verdicts import Verdict


def judge(trace: Trace) -> Verdict:
    """The verdict by no other checks."""
    return analysis.verdict.judge.judge(trace, only=[Check(name) for name in trace.plan.must_judge])
