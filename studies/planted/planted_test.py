"""Are planted bugs found by random plans that know nothing of them?

Cluster: that of random; the topic allows unclean elections, which the plan does not say.
Load:    the planted groups in place of the drawn ones (studies/planted/planted.yml).
Fault:   that of the plan.
Expect:  violations, which name the planted bugs.
Source:  docs/coverage.md.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ducktape.mark import matrix
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.clients import INSTALLED
from contract.commit_rules import OFFSET_FETCH
from harness.clients.observer_worker import Ask
from harness.plans.plan import BROKERS, PLAN_FILE, TOPIC, read_plan, written
from harness.plans.story import Story
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader
from harness.wire.requests import Offset, offset_fetch
from studies.planted.planting import planted


class PlantedScenario(Scenario):
    """One plan with planted bugs."""

    topology = Topology(brokers=BROKERS, controllers=1)
    groups = tuple(
        reader(client, TOPIC, client=client, members=2)
        for client in (*INSTALLED, "kafka-python@3.0.5", "kafka-python@3.0.8")
    )
    must_judge = (Check.HISTORY_COMPLETE,)
    answer = "{{ lost_record.records }} records were lost."

    @matrix(plan=[""])
    def test_planted(self, plan: str) -> None:
        """`plan`: the path of a plan with what is planted."""
        given = read_plan(Path(plan))
        with self.running(
            topics=[given.topic],
            groups=given.groups,
            producers=[given.producer],
            topology=dataclasses.replace(self.topology, is_proxied=given.is_proxied),
        ) as run:
            (run.folder.path / PLAN_FILE).write_bytes(written(given))
            create(run)
            run.watch()
            with asked(run, partitions=given.topic.partitions):
                Story(run, given).carry_out()


def create(run: Run) -> None:
    """Create the topic with its planted setting, which the plan does not have."""
    what, declared = planted(), run.plan
    topics = [replace(one, unclean_election=what.is_unclean) for one in declared.topics]
    run.plan = replace(declared, topics=topics)
    run.create(assignment=what.partitions_on, is_spread=True)
    run.plan = declared


@contextmanager
def asked(run: Run, *, partitions: int) -> Iterator[None]:
    """Ask each broker for the commits of a group, again and again, without require_stable."""
    offsets = [
        Offset(topic=TOPIC, topic_id=run.wire.topic_id(TOPIC), partition=one, offset=0, epoch=0)
        for one in range(partitions)
    ]
    brokers = range(1, BROKERS + 1)
    asks = {
        f"broker {broker}": Ask(
            broker=broker,
            request=offset_fetch(
                group=planted().asked,
                offsets=offsets,
                version=run.wire.versions(broker, OFFSET_FETCH)[-1],
                is_stable=False,
            ),
        )
        for broker in brokers
    }
    with run.wire.asking(asks):
        yield
