"""What do faults do that overlap, in an order that no scenario has?

Cluster: 3 brokers, 1 controller; one topic of 1 to 4 partitions with 3 replicas.
Load:    a producer throughout; four groups, whose clients, styles and manners are drawn, read,
         commit, and are opened again in between.
Fault:   two to four faults on leaders, followers and coordinators, drawn from the seed, of which
         two may hold at a time. Each is injected and healed at a state of the cluster, never at a
         time. A server has one fault at a time. The run's folder has the plan (`random.json`).
Expect:  no violation, but for commits of kafka-python without an epoch. Safety is judged always,
         service only where the cluster was able to serve.
Source:  KIP-320, KIP-966, KAFKA-19902; swarm testing (Groce et al., ISSTA 2012).
"""

from dataclasses import replace
from pathlib import Path

from ducktape.mark import parametrize

from cluster.kafka.topology import Topology
from cluster.refusal import refuse
from contract.errors import UsageError
from contract.files import replace_file
from contract.run_folder import Consequence, Expectation
from contract.software import INSTALLED, about
from extras.plans.draw import draw
from extras.plans.plan import (
    BROKERS,
    MUST_JUDGE,
    PLAN_FILE,
    TOPIC,
    RandomPlan,
    of_openings,
    plan_as_json,
    read_plan,
)
from extras.plans.story import Story
from harness.story.scenario import Scenario
from harness.story.workload import commits_no_epochs, reader


class RandomScenario(Scenario):
    """One plan of a seed, or the plan of an earlier run."""

    topology = Topology(brokers=BROKERS, controllers=1)
    groups = tuple(reader(client, TOPIC, client=client, members=2) for client in INSTALLED)
    must_judge = MUST_JUDGE
    answer = (
        "Of {{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records(verdict='violation') }} were lost, and "
        "{{ skipped_record.records(verdict='violation') }} skipped against a promise; "
        "{{ duplicate_delivery.records | noun('record') }} came again."
    )
    follows = Consequence(
        sentence=(
            "Process records so that a repetition does no harm: "
            "{{ duplicate_delivery.records | noun('record') }} came again after faults and "
            "restarts."
        ),
        document="Kafka documentation, Design: Message Delivery Semantics",
    )

    @parametrize()  # ducktape gives what `--parameters` names to marked tests only
    def test_random(self, plan: str = "") -> None:
        """Carry out the plan of the seed, or a kept one; `plan`: its path."""
        try:
            drawn = read_plan(Path(plan)) if plan else draw(self.session.seed, self._testable())
        except UsageError as mistake:
            refuse(mistake)
            raise
        with self.running(
            topics=[drawn.topic],
            groups=drawn.groups,
            producers=[drawn.producer],
            expects=_known_findings(drawn),
            must_judge=of_openings(drawn),
            topology=replace(self.topology, is_proxied=drawn.is_proxied),
        ) as run:
            replace_file(run.folder.path / PLAN_FILE, plan_as_json(drawn))
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            Story(run, drawn).carry_out()


def _known_findings(plan: RandomPlan) -> list[Expectation]:
    """What the client of a group does without any fault: it commits no epoch."""
    groups = [group.group for group in plan.groups if not about(group.client).commits_epochs]
    return [commits_no_epochs(groups)] if groups else []
