"""Checks of a kind of their own: one counts the rows of a table, one judges the other checks."""

from analysis.checks.registry import Description
from contract.checks import Check

OTHERS = {
    Check.RESUMPTION: Description(
        id="D10",
        definition=(
            "How each group went on after it was stopped and opened again, or after its last pause."
        ),
        evaluates="every partition of a group that was opened at least twice.",
        source="docs/results.md, resumption.",
    ),
    Check.VACUOUS_CHECK: Description(
        id="M2",
        definition=(
            "A check that must be judged evaluated nothing, or another one without saying why."
        ),
        explanation="Its kind reports whether the check claims to hold all the same.",
        undecided="always.",
        evaluates="every other check.",
        source="a check without anything to evaluate proves nothing.",
    ),
}
