"""What a night shows beside the nights before it: a part of its `report/summary.json`.

The rules are in `analysis.trends`, and their rates in docs/decisions/0058.
"""

import enum

import msgspec


class FindingState(enum.StrEnum):
    """The state of a finding after a night.

    new: the night is the first that has it. open: the night has it, and so had each run since the
    first that could have shown it. flaky: some of these runs do not have it, and too few for
    `fixed`. fixed: it has ended, by the rule. gone: no run of the night could have shown it. known:
    an entry of known.yml is about it, and it is neither fixed nor gone.
    """

    NEW = "new"
    OPEN = "open"
    FLAKY = "flaky"
    KNOWN = "known"
    FIXED = "fixed"
    GONE = "gone"


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A finding in a run of the night.

    Attributes:
        run: the run's folder, relative to the night's.
        number: the finding's, as `explain` takes it: the first of them.
        findings: how many there are in the run.
        cause: of the first.
    """

    run: str
    number: int
    findings: int
    cause: str


class TrackedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that no expectation covers, over the nights.

    Attributes:
        id: its name (`analysis.trends.identity`), which `finding` of known.yml takes.
        before: its state after the night before; None if it was not seen until then.
        cause: the shape of its cause.
        parameters: of the scenario, as JSON.
        plan: the hash of the random plan that its runs were given; empty where they drew one.
        kafka: the versions on which it was seen.
        first_night, last_night: that have it.
        seen, runs: of how many runs since the first sighting, that one too, how many have it.
        is_worse: whether it became more frequent, by the rule.
        sightings: in the night.
        why: of its state, in words.
        reason, link, expires: of its entry in known.yml; empty without one.
    """

    id: str
    state: FindingState
    before: FindingState | None
    check: str
    kind: str
    cause: str
    client: str | None
    scenario: str
    parameters: str
    plan: str
    kafka: list[str]
    first_night: str
    last_night: str
    seen: int
    runs: int
    is_worse: bool
    sightings: list[Sighting]
    why: str
    reason: str = ""
    link: str = ""
    expires: str = ""


class Stability(enum.StrEnum):
    """The verdict on a scenario from its runs.

    regressed: it fails more often than before, by the rule. flaky: it failed, and passed later,
    and no change is shown. undecided: its last runs failed, too few to show a change, or it has too
    few runs. steady: all of its runs came to the same, or its failures have ended, by the rule.
    """

    REGRESSED = "regressed"
    FLAKY = "flaky"
    UNDECIDED = "undecided"
    STEADY = "steady"


class ScenarioHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario with its parameters on a version of Kafka, over the nights.

    Attributes:
        failed, runs: of how many decided runs, how many were not as the suite expects.
        undecided: further runs, that were not decided.
        why: of the verdict, in words.
        more_runs: how many further runs that fail would show that it regressed; None if it is no
            question, or too many.
        cells: by night, what its runs came to in one word (`CELLS`).
    """

    scenario: str
    parameters: str
    kafka: str
    verdict: Stability
    failed: int
    runs: int
    undecided: int
    why: str
    more_runs: int | None
    cells: dict[str, str]


CELLS = ("new", "failed", "known", "undecided", "expected")
"""The words of a cell, the gravest first; new: with a finding that no earlier night has."""


class TrendChange(enum.StrEnum):
    """undecided: there are too few runs for any change to be shown."""

    LARGER = "larger"
    SMALLER = "smaller"
    NONE = "no change shown"
    UNDECIDED = "undecided"


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the runs of a scenario on a version of Kafka, of one client or of the cluster.

    Attributes:
        values: by run, the oldest first.
        before, last: the medians of the runs before, and of the last ones that are compared.
        p: of the difference, by the rank test.
    """

    measure: str
    scenario: str
    parameters: str
    kafka: str
    client: str
    change: TrendChange
    values: list[float]
    before: float
    last: float
    p: float


class Morning(msgspec.Struct, frozen=True, kw_only=True):
    """What the store of all nights says about a night of the same suite and pool.

    Attributes:
        nights: their names, the oldest first; the night itself is the last.
        known_file: that was read; empty without one.
        notes: entries of it that expired, or that are about nothing that was seen.
    """

    nights: list[str]
    findings: list[TrackedFinding]
    scenarios: list[ScenarioHistory]
    trends: list[Trend]
    known_file: str = ""
    notes: list[str] = []

    def in_state(self, *states: FindingState) -> list[TrackedFinding]:
        """The findings in any of these states."""
        return [one for one in self.findings if one.state in states]
