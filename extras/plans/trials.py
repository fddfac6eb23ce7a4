"""How often plans show a finding: each is carried out until that is decided, and all is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from contract.errors import UsageError
from contract.files import SCHEMA, read_described, replace_file
from contract.nights import write_atomically
from extras.plans.plan import RandomPlan, plan_as_json
from extras.plans.series import Carried, Found

TRIALS_FILE = "trials.json"
PLANS, RUNS = "plans", "runs"
_DIGITS = 12


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What has to come back: violations of a check, of a group or of any.

    They are counted if no expectation of the run covers them.
    """

    check: str
    group: str = ""

    def is_in(self, run: Carried) -> bool:
        """Whether a run shows it."""
        return any(self.is_of(finding) for finding in run.found)

    def is_of(self, found: Found) -> bool:
        """Whether a violation is one of these."""
        return found.check == self.check and self.group in ("", found.group)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """When a plan shows a finding: in `shown` of at most `runs` runs.

    A plan that shows it in a share p of its runs is passed over with the probability that fewer
    than `shown` of `runs` show it: with 1 of 3, (1 - p)³. One that never shows it is never taken.
    """

    shown: int
    runs: int

    def decide(self, shown: int, runs: int) -> bool | None:
        """Whether a plan shows it, by its runs so far; None: more are needed."""
        if shown >= self.shown:
            return True
        return False if shown + self.runs - runs < self.shown else None


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a plan; `plan` begins the SHA-256 of its bytes, and names its file."""

    plan: str
    runs: list[Carried]


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What `trials.json` has: which plan and finding, by which rule, and all trials in order."""

    schema: int
    plan: str
    finding: Finding
    rule: Rule
    trials: list[Trial]


@dataclass
class Trials:
    """The trials of a search, which a kill interrupts, and the same search continues.

    Attributes:
        home: their folder.
        carry_out: carries out a plan, below a folder of a name in `home`.
        on_run: called after each run, with its plan and the plan's trial so far.
    """

    home: Path
    state: State
    carry_out: Callable[[RandomPlan, str], Carried]
    on_run: Callable[[RandomPlan, Trial], None]

    def shows(self, plan: RandomPlan) -> bool:
        """Carry out a plan until it is decided whether it shows the finding; kept runs count.

        One without the group of the finding can't show it, and is not carried out.
        """
        group = self.state.finding.group
        if group and all(planned.group != group for planned in plan.groups):
            return False
        while (decided := self._decide(self.of(plan))) is None:
            trial, name = self.of(plan), name_of_plan(plan)
            replace_file(self._file(name), plan_as_json(plan))
            run = self.carry_out(plan, f"{RUNS}/{name}-{len(trial.runs) + 1}")
            trial = msgspec.structs.replace(trial, runs=[*trial.runs, run])
            others = [other for other in self.state.trials if other.plan != name]
            self.state = msgspec.structs.replace(self.state, trials=[*others, trial])
            write_atomically(self.home / TRIALS_FILE, self.state)
            self.on_run(plan, trial)
        return decided

    def of(self, plan: RandomPlan) -> Trial:
        """The trial of a plan so far."""
        name = name_of_plan(plan)
        return next(
            (trial for trial in self.state.trials if trial.plan == name), Trial(plan=name, runs=[])
        )

    def runs_that_show(self, trial: Trial) -> list[Carried]:
        """The runs of a trial that show the finding."""
        return [run for run in trial.runs if self.state.finding.is_in(run)]

    def _decide(self, trial: Trial) -> bool | None:
        return self.state.rule.decide(len(self.runs_that_show(trial)), len(trial.runs))

    def _file(self, name: str) -> Path:
        (self.home / PLANS).mkdir(parents=True, exist_ok=True)
        return self.home / PLANS / f"{name}.json"


def name_of_plan(plan: RandomPlan) -> str:
    """The name of a plan: the first digits of the SHA-256 of its bytes."""
    return sha256(plan_as_json(plan)).hexdigest()[:_DIGITS]


def state_of(home: Path, plan: RandomPlan, finding: Finding, rule: Rule) -> State:
    """The state of a search in a folder, or that of a new one.

    Raises:
        UsageError: the folder has another search.
        RunFolderError: its state is damaged.
    """
    new = State(schema=SCHEMA, plan=name_of_plan(plan), finding=finding, rule=rule, trials=[])
    try:
        kept = read_described(home / TRIALS_FILE, State)
    except FileNotFoundError:
        return new
    if msgspec.structs.replace(kept, trials=[]) != new:
        raise UsageError(
            f"{home} has a search for another plan, finding or rule: name another folder with --out"
        )
    return kept
