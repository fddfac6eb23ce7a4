"""What is found out about a guest: which rules of docs/guests.md it keeps, and what it lacks."""

import enum
from pathlib import Path

import msgspec

from contract.files import replace_file
from contract.software import Level
from extras.conform.guest import LINE_BYTES_MAX, RESPONSE_SECONDS, Rule

TRIAL_FILE = "trial.json"
NAME = "check"
"""Of the guest, in the plan."""

RULES = {
    str(Rule.LINE): (
        "prints one JSON object for each request, on one line of UTF-8 of at most "
        f"{LINE_BYTES_MAX >> 20} MiB"
    ),
    str(Rule.ID): "responds in order, with the id of the request, and prints nothing else",
    str(Rule.FIELDS): "responds with the fields of `fencepost docs guests`, of their types",
    str(Rule.TIME): f"responds within {RESPONSE_SECONDS} s, after the timeout_ms of a poll",
    str(Rule.STAYS): "runs until close, or until the end of its input",
    str(Rule.NAMED): "names its client and the version at open",
    "unknown fields": "ignores fields of a request that it does not know",
    "settings": "refuses a setting that its client does not know",
    "records": "returns each record once, in the order of its partition, with its value",
    "epoch": "returns the epoch of a record's batch, if any",
    "size": "returns about 1,000 records at most by a poll",
    "wait": "responds to a poll without records soon after timeout_ms",
    "assigned": "assigned are the partitions that the member has",
    "positions": "positions are those of the next records",
    "commit": "commits the position after the last record that it returned",
    "committed": "committed is what the coordinator stored",
    "nothing": "responds to a commit without new records, and not with an error",
    "explicit": "commits nothing unless it is asked to",
    "automatic": "commits by itself if it is to, up to the log end when it is closed or soon after",
    "resumes": "begins at the commit when it is opened again",
    "rebalance": "shares its partitions with a second member, and takes them over if that leaves",
    "latest": "begins at the log end, if that is the reset policy",
    "none": "reports an error instead of a reset, if that is the policy",
    "goes on": "responds to a poll after an error",
    "leaves": "has left its group when it has responded to close",
    str(Rule.EXIT): "exits with status 0 after close",
    "end": "exits with status 0 at the end of its input",
    "killed": "is gone from its group once its process was killed",
}
"""Each rule in a sentence whose subject is the guest."""

_OF_FORM = (Rule.LINE, Rule.ID, Rule.FIELDS, Rule.NAMED)


def broken_by(found: str, tried: str) -> str:
    """Return which rule is broken by a response that keeps none.

    Args:
        found: the rule of lines that it breaks.
        tried: the rule that the request was to try; empty: none. It is untried if the form of the
            response is broken.
    """
    return found if found in _OF_FORM else tried or found


class Kept(enum.StrEnum):
    """untried: it lacks what the rule is about, or another broken rule prevented the trial."""

    KEPT = "kept"
    BROKEN = "broken"
    UNTRIED = "untried"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, whether it is kept, and how it was broken or why it was not tried."""

    rule: str
    sentence: str
    outcome: Kept
    why: str = ""


class Trial(msgspec.Struct, kw_only=True):
    """What was found out.

    client, version: as the guest named them.
    level: what it shows, if it breaks no rule.
    lacks: features that it does not have, each with what it responded.
    """

    client: str = ""
    version: str = ""
    level: Level = Level.DELIVERS
    lacks: dict[str, str] = {}
    kept: list[str] = []
    broken: dict[str, str] = {}

    def keeps(self, rule: str) -> None:
        """Note that a rule was tried and kept."""
        if rule not in self.kept:
            self.kept.append(rule)

    def breaks(self, rule: str, why: str) -> None:
        """Note how a rule was broken first."""
        self.broken.setdefault(rule, why)

    def judges(self, rule: str, why: str) -> None:
        """Note that a rule was tried; `why` is how it was broken, empty if it was kept."""
        if why:
            self.breaks(rule, why)
        else:
            self.keeps(rule)

    @property
    def proved(self) -> Level | None:
        """The level that it reaches; None if a broken rule leaves that open."""
        return None if self.broken else self.level

    @property
    def reached(self) -> str:
        """The level in words."""
        if not self.broken:
            return f"level {self.level}"
        return f"up to level {self.level}" if "records" in self.kept else "no level shown"

    @property
    def rules(self) -> list[Tried]:
        """Return all rules, in their order."""
        return [self._result_of_rule(rule, sentence) for rule, sentence in RULES.items()]

    def _result_of_rule(self, rule: str, sentence: str) -> Tried:
        if rule in self.broken:
            outcome, why = Kept.BROKEN, self.broken[rule]
        elif rule in self.kept:
            outcome, why = Kept.KEPT, ""
        else:
            outcome, why = Kept.UNTRIED, ""
        return Tried(rule=rule, sentence=sentence, outcome=outcome, why=why)


def write_trial(folder: Path, trial: Trial) -> None:
    """Write it into the folder of its run."""
    replace_file(folder / TRIAL_FILE, msgspec.json.encode(trial))


def read_trial(folder: Path) -> Trial | None:
    """Return what was written; None if the run did not come that far."""
    file = folder / TRIAL_FILE
    return msgspec.json.decode(file.read_bytes(), type=Trial) if file.is_file() else None
