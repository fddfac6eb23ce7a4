"""Which rules of docs/guests.md does a guest keep?

Cluster: 1 broker; topic orders of 2 partitions.
Load:    a producer, and guests that are asked line by line.
Fault:   none; one guest is killed.
Expect:  nothing: what comes out is in the run's folder, and is not judged.
"""

from cluster.kafka.topology import Topology
from extras.conform.guests.plays import ORDERS, TOPIC, Plays, Written
from extras.conform.guests.trial import NAME, Trial, write_trial
from harness.story.scenario import Scenario
from harness.story.workload import reader

GUEST = f"guest@{NAME}"


class GuestCheckScenario(Scenario):
    """Its only group is that of the guests' worker; it has no members."""

    topology = Topology(brokers=1)
    groups = (reader("guests", TOPIC, client=GUEST),)
    must_judge = ()

    def test_guest(self) -> None:
        """Carry out all plays."""
        with self.running(topics=[ORDERS], groups=self.groups) as run:
            run.create(assignment=[1])
            trial = Trial()
            worker = run.consumers.workers_of(self.groups[0])[0]
            Plays(run, worker, trial, Written(run)).carry_out()
            write_trial(run.folder.path, trial)
