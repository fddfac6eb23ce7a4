"""Is every fault on servers and clients that has no effect recorded as not landed?

Cluster: 4 brokers, 3 of them controllers too; one topic with 4 replicas.
Load:    an acks=1 producer all the time.
Fault:   every verb, with means that were made ineffective (ineffective.py): a signal that nobody
         gets, a rule that is not applied, one that counts and does not drop; and targets that are
         down, fenced or busy for another reason.
Expect:  none has landed, so the run is undecided; every check holds.
"""

from functools import partial
from pathlib import Path

from ineffective import (
    Ineffective,
    Means,
    Story,
    disk_not_limited,
    first_signal_swallowed,
    meanwhile,
    not_removed,
    rules_not_applied,
    rules_that_only_count,
    signals_swallowed,
    tell,
)
from stage import BROKERS, GROUPS, LOAD, ORDERS, PLAIN

from cluster.kafka.topology import CONTROLLER_PORT, Topology
from cluster.nodes.traffic import Direction
from contract.checks import Check
from contract.run_folder import GroupPlan
from harness.clients.member import LogEnd
from harness.clients.member_role import MemberRole
from harness.faults.bounce import Bounce
from harness.faults.bridge import Bridge
from harness.faults.client import CutClient, PauseClient
from harness.faults.cut import Cut, Links, traffic_with
from harness.faults.fault import Fault
from harness.faults.fill import Fill
from harness.faults.kill import Kill
from harness.faults.pause import Pause
from harness.faults.stop import Stop
from harness.faults.targets import Broker
from harness.faults.wipe import Wipe
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import writer

BUSY_SECONDS = 4
UNREACHED = 10**12
GROUP: GroupPlan = GROUPS[0]


def kill(_run: Run) -> Ineffective:
    return Ineffective(Kill(Broker(PLAIN)), first_signal_swallowed)


def kill_what_is_dead(run: Run) -> Ineffective:
    run.kafka.kill_server(PLAIN)
    return Ineffective(Kill(Broker(PLAIN)))


def stop(_run: Run) -> Ineffective:
    return Ineffective(Stop(Broker(PLAIN)), first_signal_swallowed)


def bounce(_run: Run) -> Ineffective:
    return Ineffective(Bounce(Broker(PLAIN)), signals_swallowed)


def bounce_what_is_dead(run: Run) -> Ineffective:
    run.kafka.kill_server(PLAIN)
    return Ineffective(Bounce(Broker(PLAIN)))


def wipe(run: Run) -> Ineffective:
    return Ineffective(Wipe(Broker(PLAIN)), not_removed(run.kafka.data(PLAIN)))


def fill(_run: Run) -> Ineffective:
    return Ineffective(Fill(Broker(PLAIN)), disk_not_limited)


def pause(_run: Run) -> Ineffective:
    return Ineffective(Pause(Broker(PLAIN)), signals_swallowed)


def pause_what_is_fenced(run: Run) -> Ineffective:
    """By rules that no fault set, which go before the heal."""
    node = run.kafka.host(PLAIN)
    controllers = [run.kafka.host(i).address for i in run.kafka.topology.controller_ids]
    rules = traffic_with(controllers, tuple(Direction), CONTROLLER_PORT)
    for rule in rules:
        node.block(rule)
    run.observer.await_that(
        lambda: PLAIN not in run.observer.brokers_seen_by(1),
        what=f"broker {PLAIN} to be fenced",
        timeout_seconds=30,
    )
    fault = Ineffective(Pause(Broker(PLAIN)), signals_swallowed)
    for rule in rules:
        fault.after(partial(node.unblock, rule))
    return fault


def pause_client(run: Run) -> Ineffective:
    return Ineffective(PauseClient(run.clients.worker), signals_swallowed)


def pause_a_busy_client(run: Run) -> Ineffective:
    members = run.open([GROUP], incarnation=1)
    ends = [
        LogEnd(topic=ORDERS.topic, partition=partition, offset=UNREACHED)
        for partition in range(ORDERS.partitions)
    ]
    read = MemberRole.consume(members, ends=ends, timeout_seconds=BUSY_SECONDS)
    fault = Ineffective(
        PauseClient(run.clients.worker),
        signals_swallowed,
        meanwhile(lambda: run.clients.send(read)),
    )
    fault.after(lambda: run.close(members))
    return fault


def cut(fault: Fault, means: Means) -> Story:
    return lambda _run: Ineffective(fault, means)


def cut_client(means: Means) -> Story:
    return lambda run: Ineffective(CutClient(run.clients.worker), means)


LINKS = {
    "not applied": rules_not_applied,
    "only counted": rules_that_only_count,
}
STORIES: dict[str, Story] = {
    "kill": kill,
    "kill what is dead": kill_what_is_dead,
    "stop": stop,
    "bounce": bounce,
    "bounce what is dead": bounce_what_is_dead,
    "wipe": wipe,
    "fill": fill,
    "pause": pause,
    "pause what is fenced": pause_what_is_fenced,
    "pause client": pause_client,
    "pause a busy client": pause_a_busy_client,
    **{
        f"cut {links} {name}": cut(Cut(Broker(1), links), means)
        for links in Links
        for name, means in LINKS.items()
    },
    **{f"cut bridge {name}": cut(Bridge(Broker(2)), means) for name, means in LINKS.items()},
    **{f"cut client {name}": cut_client(means) for name, means in LINKS.items()},
}


class IneffectiveServersScenario(Scenario):
    """Each fault has no effect."""

    topology = Topology(brokers=4, combined=(1, 2, 3))
    must_judge = (Check.HISTORY_COMPLETE,)

    def test_ineffective_servers(self) -> None:
        with self.running(topics=[ORDERS], groups=[GROUP]) as run:
            run.create(assignment=BROKERS, is_spread=True)
            run.start_load(
                ORDERS, (), records_per_second=500, producers=[writer(LOAD, "orders", acks="1")]
            )
            tell(run, STORIES, Path(self.session.results, "seen.json"))
