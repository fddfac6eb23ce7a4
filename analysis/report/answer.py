"""The answer to a scenario's question, and what follows from it, with the figures of the run."""

import re

import msgspec

from analysis.report.figures import Figures, with_noun
from contract.answers import Figure, parts
from contract.consequence import Consequence
from contract.errors import FencepostError
from contract.run_folder import RunFolder
from contract.verdicts import CheckVerdict, Verdict

UNFINISHED = "The scenario did not finish. Until then: "
UNKNOWN = "Undecided: the sources of the answer are missing, or have gaps."
_CHECKS_MAX = 3


def answer(folder: RunFolder, verdict: Verdict) -> str:
    """The answer in plain text; a general one where the plan declares none.

    A figure that the run's files can't give is named as unknown.
    """
    declared = folder.plan().answer
    try:
        told = _written(list(parts(declared)), Figures(folder, verdict))
    except FencepostError:
        told = ""
    told = told or general_answer(verdict)
    return f"{UNFINISHED}{told}" if folder.run().error is not None else told


def consequence(folder: RunFolder, verdict: Verdict) -> Consequence | None:
    """What follows from a run; None unless it finished and all figures are known."""
    declared = folder.plan().follows
    if declared is None or folder.run().error is not None:
        return None
    figures = Figures(folder, verdict)
    try:
        pieces = list(parts(declared.sentence))
        if not all(figures.is_known(one) for one in pieces if isinstance(one, Figure)):
            return None
        return msgspec.structs.replace(declared, sentence=_written(pieces, figures))
    except FencepostError:
        return None


def _written(pieces: list[str | Figure], figures: Figures) -> str:
    counted = [one for one in pieces if isinstance(one, Figure)]
    if counted and not any(figures.is_known(one) for one in counted):
        return UNKNOWN
    return _capitalized(
        "".join(one if isinstance(one, str) else figures.written(one) for one in pieces)
    )


def _capitalized(text: str) -> str:
    """A text whose sentences begin with a capital letter, whatever figure they begin with."""
    return re.sub(r"(?:^|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)


def general_answer(verdict: Verdict) -> str:
    """What the checks that the question is about came to."""
    asked = {name: verdict.checks[name] for name in verdict.must_judge if name in verdict.checks}
    clear = (CheckVerdict.HOLDS, CheckVerdict.PERMITTED)
    found = [name for name, result in asked.items() if result.verdict not in clear]
    held = f"{len(asked) - len(found)} of {with_noun(len(asked), 'check')}"
    told = f"{held} that the question is about found no violation"
    if not found:
        return f"{told}."
    more = f" and {len(found) - _CHECKS_MAX} more" if len(found) > _CHECKS_MAX else ""
    named = ", ".join(f"{name} ({asked[name].verdict})" for name in found[:_CHECKS_MAX])
    return f"{told}; the others: {named}{more}."
