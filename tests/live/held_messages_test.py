"""Does a response wait while it is held, and does a client get the error that it is to get?

Cluster: 1 broker, whose clients reach it through the proxy.
Load:    a producer, and a Java and a librdkafka group that read and commit, throughout.
Fault:   the stories below, one after the other; the effects are measured by committed offsets and
         the client's log, not by the proxy.
Expect:  those of `LANDED` have landed, those of `NOT_LANDED` have not; test_held_messages.py.
"""

from collections.abc import Callable
from contextlib import suppress

from ineffective import Ineffective, meanwhile, short_waits

from cluster.kafka.topology import Topology
from contract.errors import NotLandedError
from contract.run_folder import TopicPlan
from contract.software import Client
from contract.terms import Check
from contract.waiting import wait_until
from harness.faults import Hold, OnMessage, Refuse
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader

RECORDS_PER_SECOND = 200
SECONDS = 30
NOBODY = "nobody"
NOT_COORDINATOR = "This is not the correct coordinator"


def count_committed(run: Run, group: str) -> int:
    return sum(run.groups.committed(group).values())


def await_more(run: Run, group: str) -> None:
    before = count_committed(run, group)
    wait_until(
        lambda: count_committed(run, group) > before,
        what=f"a further offset of group {group}",
        timeout_seconds=SECONDS,
    )


def hold(client: Client) -> Callable[[Run], None]:
    """The group whose Fetch is held stands still, the other one reads on."""

    def story(run: Run) -> None:
        other = next(group for group in GROUPS if group != client)
        with run.fault(Hold("FETCH", client)):
            for _ in range(2):
                await_more(run, other)
            before = count_committed(run, client)
            for _ in range(2):
                await_more(run, other)
            assert count_committed(run, client) == before
        await_more(run, client)

    return story


def refuse(run: Run) -> None:
    """The member says so, looks for its coordinator again, and commits."""
    log = run.clients.log_file
    assert NOT_COORDINATOR not in run.clients.host.read(log).decode()
    run.inject(Refuse("OFFSET_COMMIT", Client.JAVA, error="NOT_COORDINATOR"))
    wait_until(
        lambda: NOT_COORDINATOR in run.clients.host.read(log).decode(),
        what="the refusal in the client's log",
        timeout_seconds=SECONDS,
    )
    await_more(run, Client.JAVA)


def not_landed(fault: OnMessage) -> Callable[[Run], None]:
    """The fault's message is not sent."""

    def story(run: Run) -> None:
        with suppress(NotLandedError):
            run.inject(Ineffective(fault, short_waits))

    return story


def hold_while_the_broker_is_silent(run: Run) -> None:
    """The client waits for a response, but not for one that is held."""
    node = run.kafka.host(1)
    fault = Ineffective(Hold("FETCH", Client.JAVA), meanwhile(node.pause), short_waits)
    fault.after(node.resume)
    with suppress(NotLandedError):
        run.inject(fault)


def hold_until_the_client_gives_up(run: Run) -> None:
    """It is held at first; the proxy sees the end of the connection a little after the close."""
    held = run.inject(Hold("FETCH", Client.LIBRDKAFKA))
    assert held.evidence.landed
    run.close(run.workload.stop_reading([f"{Client.LIBRDKAFKA}#1"]))
    wait_until(
        lambda: bool(held.fault.lapse(held._field)),  # noqa: SLF001
        what="the end of the held response's connection",
        timeout_seconds=SECONDS,
    )
    held.heal()


GROUPS = (Client.JAVA, Client.LIBRDKAFKA)
LANDED: dict[str, Callable[[Run], None]] = {
    "hold of java": hold(Client.JAVA),
    "hold of librdkafka": hold(Client.LIBRDKAFKA),
    "refuse": refuse,
}
NOT_LANDED: dict[str, Callable[[Run], None]] = {
    "hold what is not sent": not_landed(Hold("TXN_OFFSET_COMMIT", Client.JAVA)),
    "hold of another group": not_landed(Hold("FETCH", NOBODY)),
    "hold while the broker is silent": hold_while_the_broker_is_silent,
    "refuse what is not sent": not_landed(
        Refuse("TXN_OFFSET_COMMIT", Client.JAVA, error="NOT_COORDINATOR")
    ),
    "hold until the client gives up": hold_until_the_client_gives_up,
}


class HeldMessagesScenario(Scenario):
    """One story after the other."""

    topology = Topology(brokers=1, is_proxied=True)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(reader(client, "orders", client=client) for client in GROUPS)
    must_judge = (Check.HISTORY_COMPLETE,)

    def test_held_messages(self) -> None:
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1])
            run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            for story in (*LANDED.values(), *NOT_LANDED.values()):
                story(run)
                run.settle()
