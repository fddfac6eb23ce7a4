"""Does a reset to the log start lead into the log if records are deleted meanwhile?

Cluster: 1 broker, whose clients reach it through a proxy; one topic of one partition.
Load:    a group of each client reads 50 records and commits 50; 100 records follow.
Fault:   the records before offset 60 are deleted, so that the commit is out of range. Then, for
         each group, its member is opened. The response with the log start is held while 10
         further records are deleted, and passes.
Expect:  the member is reset twice: to an offset that is deleted by then, and to the log start of
         now. It reads from there: nothing is skipped that was not deleted.
Source:  getsentry/arroyo#389; librdkafka `rd_kafka_offset_reset`; Java `OffsetFetcher`.
"""

from functools import partial

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, TopicPlan
from contract.software import INSTALLED
from contract.terms import Check, Stage
from harness.faults import DeleteBefore, Hold
from harness.story.scenario import Scenario
from harness.story.workload import reader

COMMITTED, MORE = 50, 100
FIRST_DELETED, STEP = 60, 10


class ExpiredResetScenario(Scenario):
    """One member of each client, one after the other."""

    topology = Topology(brokers=1, is_proxied=True)
    orders = TopicPlan(
        topic="orders",
        partitions=1,
        replication=1,
        min_insync=1,
        unclean_election=False,
        deletes=True,
    )
    groups = tuple(reader(client, "orders", client=client) for client in INSTALLED)
    must_judge = (
        Check.RESET,
        Check.UNJUSTIFIED_RESET,
        Check.START_MISMATCH,
        Check.SKIPPED_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ resets.rows(cause='out_of_range') | noun('reset') }} of "
        "{{ resets.groups(cause='out_of_range') | noun('group') }}; "
        "{{ skipped_record.records(verdict='violation') | noun('record') }} were skipped though "
        "not deleted."
    )
    follows = Consequence(
        sentence=(
            "A reset to the log start may lead out of the log again while records are deleted: "
            "{{ resets.rows(cause='out_of_range') | noun('reset') }} of "
            "{{ resets.groups(cause='out_of_range') | noun('group') }}."
        ),
        document="Kafka documentation, configuration auto.offset.reset",
    )

    def test_expired_reset(self) -> None:
        groups = self.groups_here(self.groups)
        with self.running(topics=[self.orders], groups=groups) as run:
            run.create(assignment=[1])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "each group reads and commits")
            run.produce("orders", count=COMMITTED, producer="writer")
            members = run.open(groups, incarnation=1)
            run.consume(members)
            run.commit(groups, incarnation=1)
            run.close(members)
            run.produce("orders", count=MORE, producer="writer")
            start = FIRST_DELETED
            run.inject(DeleteBefore("orders", 0, offset=start))
            for group in groups:
                (member,) = run.open([group], incarnation=2, is_subscribed=False)
                run.calls.assign([member])
                read = partial(run.workload.start_reading, [member])
                with run.fault(Hold("LIST_OFFSETS", group.group, by=read)):
                    start += STEP
                    run.inject(DeleteBefore("orders", 0, offset=start))
                run.workload.stop_reading([member])
                run.consume([member])
                run.close([member])
