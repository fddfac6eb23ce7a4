"""Does each client detect that records it consumed were truncated, at the exact divergence?

Cluster: 3 brokers; one topic with replicas on brokers 1 and 2, unclean leader election allowed.
Fault:   the follower is killed; the leader acknowledges 100 more records alone, every group reads
         them and commits as its client does by itself: (200, epoch 0). Then the leader is killed,
         and the follower is elected without these records. 250 new ones take their offsets
         and the next. Each client reads twice with each reset policy: as group `restart` it is
         closed before the truncation and opened after it; as group `live` it stays open and reads
         on.
Expect:  a client that implements KIP-320 resumes at 100, where the branches diverge, or raises an
         exception there if it may not reset. librdkafka 2.16.0 and kafka-python 3.0.12 do so only
         as `live`. As `restart` they resume at 200 as committed, under each policy, and skip 100
         new records without an error.
Source:  KIP-320; runs and the clients' source: docs/truncation-detection.md.
"""

from itertools import product

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, TopicPlan
from contract.software import INSTALLED, Client
from contract.terms import Check, ResetPolicy, Stage
from harness.faults import FollowerOf, Kill, LeaderOf
from harness.story.scenario import Scenario
from harness.story.workload import reader

REPLICATED, LOST, NEW = 100, 100, 250
READERS = ("restart", "live")
FORGETFUL = {Client.LIBRDKAFKA, Client.KAFKA_PYTHON}


class TruncationDetectionScenario(Scenario):
    """One election for all: each combination of client, policy and reader is a group."""

    topology = Topology(brokers=3, combined=(3,))
    orders = TopicPlan(
        topic="orders", partitions=1, replication=2, min_insync=1, unclean_election=True
    )
    groups = tuple(
        replace(
            reader(f"{client}.{reset}.{kind}", "orders", client=client, reset=reset),
            labels={"reader": kind},
        )
        for client, reset, kind in product(INSTALLED, ResetPolicy, READERS)
    )
    skipping = tuple(
        group.group
        for group in groups
        if group.client in FORGETFUL and group.labels["reader"] == "restart"
    )
    expects = (
        Expectation(check=Check.SKIPPED_RECORD, groups=list(skipping)),
        Expectation(check=Check.TRUNCATION_UNDETECTED, groups=list(skipping)),
        Expectation(check=Check.SILENT_REVALIDATION, groups=list(skipping)),
    )
    must_judge = (
        Check.SKIPPED_RECORD,
        Check.TRUNCATION_DETECTED,
        Check.TRUNCATION_UNDETECTED,
        Check.FALSE_TRUNCATION,
        Check.DIVERGENCE_MISMATCH,
        Check.OVER_TRUNCATION,
        Check.SILENT_REVALIDATION,
        Check.UNJUSTIFIED_RESET,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ truncation_detected.groups }} of {{ resumption.groups | noun('group') }} detected the "
        "truncation ({{ truncation_detected.client }}): "
        "{{ truncation_detected.groups(kind='at the divergence') }} resumed at the exact "
        "divergence, {{ truncation_detected.groups(kind='raised') }} raised an exception. "
        "{{ truncation_undetected.groups | noun('group') }} did not detect it ("
        "{{ truncation_undetected.client }}) and skipped "
        "{{ skipped_record.records | noun('record') }}."
    )
    follows = Consequence(
        sentence=(
            "Where unclean elections are allowed, find out whether your client validates a "
            "committed offset when it starts: "
            "{{ truncation_undetected.groups(reader='restart') | noun('group') }} did not ("
            "{{ truncation_undetected.client(reader='restart') }}), and "
            "{{ skipped_record.records(reader='restart') | noun('record') }} were skipped."
        ),
        document="KIP-320, Proposed Changes",
    )

    def test_truncation_detection(self) -> None:
        groups = self.groups_here(self.groups)
        live = [group for group in groups if group.labels["reader"] == "live"]
        restarted = [group for group in groups if group.labels["reader"] == "restart"]
        with self.running(topics=[self.orders], groups=groups, expects=self.expects) as run:
            run.create(assignment=[1, 2])
            run.produce("orders", count=REPLICATED, producer="replicated")
            run.phases.enter(Stage.WARM_UP, "live groups commit a first position")
            members = run.open(live, incarnation=1)
            run.consume(members)
            run.commit(live, incarnation=1)
            run.close(members)

            follower = run.inject(Kill(FollowerOf("orders", 0)))
            run.await_isr("orders", 0, [1])
            run.produce("orders", count=LOST, producer="lost")
            run.phases.enter(Stage.HELD, f"{len(groups)} groups read to {REPLICATED + LOST}")
            first = run.open(restarted, incarnation=1)
            reading = run.open(live, incarnation=2)
            run.consume([*first, *reading])
            run.commit(restarted, incarnation=1)
            run.commit(live, incarnation=2)
            run.close(first)

            with run.fault(Kill(LeaderOf("orders", 0))):
                follower.heal()
                run.await_leader("orders", 0, 2)
                run.produce("orders", count=NEW, producer="new")
                run.phases.enter(Stage.HELD, "groups resume or continue")
                reopened = run.open(restarted, incarnation=2)
                run.consume([*reopened, *reading])
                run.close([*reopened, *reading])
            run.settle()
