"""Is each rule of docs/guests.md found to be broken by a guest that breaks it?

Cluster: 1 broker; topic orders of 2 partitions.
Load:    guests that break a rule each, one after the other, each in the play that tries it; and one
         that breaks none.
Fault:   none.
Expect:  test_broken_rules.py.
"""

import json

from cluster.kafka.topology import Topology
from extras.conform.guest import Rule
from extras.conform.guests.plays import ORDERS, PLAYS, TOPIC, Plays, Written
from extras.conform.guests.trial import RULES, Trial
from harness.story.scenario import Scenario
from harness.story.workload import reader

PLAY_OF = {
    "rebalance": "shares",
    "latest": "latest",
    "none": "none",
    "goes on": "none",
    "automatic": "automatic",
    "settings": "settings",
    "unknown fields": "ends",
    "end": "ends",
    "killed": "killed",
}
"""The play that tries a rule, if it is not `reads`."""
KEEPS = "keeps"
BARE_END = "bare end"
"""It keeps all, and shows no position at the log end before a record comes."""
IN_EVERY_PLAY = (KEEPS, BARE_END, Rule.LINE, Rule.FIELDS)
TRIED = [rule for rule in RULES if rule != Rule.TIME]
"""A guest that does not respond takes 90 s: tests/unit/conform/test_guest.py has it."""
FOUND = "found.json"
KILLED_SECONDS = 20


class BrokenRulesScenario(Scenario):
    """One worker has all guests, which are given their rule."""

    topology = Topology(brokers=1)
    groups = (reader("guests", TOPIC, client="guest@breaking"),)
    must_judge = ()

    def test_broken_rules(self) -> None:
        """Write which rules each guest broke."""
        found = {}
        with self.running(topics=[ORDERS], groups=self.groups) as run:
            run.create(assignment=[1])
            written = Written(run)
            (worker,) = run.consumers.workers_of(self.groups[0])
            for rule in (*TRIED, KEEPS, BARE_END):
                trial = Trial()
                plays = Plays(
                    run,
                    worker,
                    trial,
                    written,
                    prefix=f"{rule.replace(' ', '-')}.",
                    arguments=[rule],
                    killed_seconds=KILLED_SECONDS,
                )
                every = [play for play in PLAYS if play != "killed"]
                in_one = [PLAY_OF.get(rule, "reads")]
                plays.carry_out(every if rule in IN_EVERY_PLAY else in_one)
                found[rule] = {"broken": trial.broken, "lacks": trial.lacks}
            (run.folder.path / FOUND).write_text(json.dumps(found, indent=2))
