"""The stories of faults on servers and on clients' nodes, with an effect and in vain.

faults_test.py tells the first kind, ineffective_test.py the second.
"""

import signal
from collections.abc import Callable
from functools import partial

import psutil
from effects import (
    answers,
    await_answer,
    await_hears,
    await_led_by_other,
    await_reaches,
    bytes_in,
    class_path,
    hears,
    is_stopped,
    jars_open_in_worker,
    leader_of,
    newest_epoch_on_disk,
    processes_of,
    reaches,
    replica,
    worker_status,
)
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
)
from stage import BROKERS, FIRST, GROUP, LOAD, ORDERS, PLAIN, SECONDS, SHARED, SIGTERM_STATUS

from cluster.kafka.topology import CLIENT_PORT, CONTROLLER_PORT, REPLICATION_PORT
from cluster.nodes.traffic import Direction
from contract.waiting import wait_until
from harness.clients.member import LogEnd
from harness.clients.member_role import MemberRole
from harness.faults import (
    ActiveController,
    AllBrokers,
    Bounce,
    Bridge,
    Broker,
    Cut,
    CutClient,
    Elect,
    Fault,
    Fill,
    FollowerOf,
    Kill,
    KillClient,
    Links,
    Minority,
    Of,
    Pause,
    PauseClient,
    Stop,
    TransactionCoordinatorOf,
    Wipe,
)
from harness.faults.cut import FENCING, traffic_with
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.workload import writer

BUSY_SECONDS = 4
UNREACHED = 10**12


def pause(run: Run) -> None:
    fault = Pause(FIRST)
    with run.fault(fault):
        assert is_stopped(run, fault.broker)
        assert not answers(run, fault.broker)
        await_led_by_other(run, fault.broker)
    assert not is_stopped(run, fault.broker)
    await_answer(run, fault.broker)


def elect(run: Run) -> None:
    """A fault before has moved the leadership to another broker than the preferred one."""
    if leader_of(run, "orders") == 1:
        pause(run)
    assert leader_of(run, "orders") != 1
    run.inject(Elect("orders", 0, unclean=False))
    state = run.observer.await_state(
        "orders", 0, lambda state: state.leader == 1, what="to be led by broker 1"
    )
    wait_until(
        lambda: newest_epoch_on_disk(run, 1) == state.leader_epoch,
        what="the epoch on the leader's disk",
        timeout_seconds=SECONDS,
    )


def kill(run: Run) -> None:
    fault = Kill(ActiveController())
    before = run.observer.active_controller()
    process = run.kafka.process(before)
    led = run.preferred_of(before, ORDERS)[0]
    with run.fault(fault):
        assert process.status() == -signal.SIGKILL
        assert not (run.kafka.data(before) / ".kafka_cleanshutdown").exists()
        assert not answers(run, before)
        assert run.observer.active_controller() != before
        await_led_by_other(run, before, partition=led)
    await_answer(run, before)


def kill_all(run: Run) -> None:
    fault = Kill(AllBrokers())
    processes = [run.kafka.process(broker) for broker in BROKERS]
    with run.fault(fault):
        assert [process.status() for process in processes] == [-signal.SIGKILL] * len(BROKERS)
        assert not any(answers(run, broker) for broker in BROKERS)
    for broker in BROKERS:
        await_answer(run, broker)


def stop(run: Run) -> None:
    fault = Stop(TransactionCoordinatorOf("payments"))
    before = run.observer.coordinator("payments", of_transactions=True)
    with run.fault(fault):
        assert run.kafka.process(before).status() in (0, SIGTERM_STATUS)
        assert (run.kafka.data(before) / ".kafka_cleanshutdown").exists()
        assert not answers(run, before)
        assert run.observer.coordinator("payments", of_transactions=True) != before
    await_answer(run, before)


def bounce(run: Run) -> None:
    """The new process has the locked jars on its class path, as every one, and nothing else."""
    (broker,) = FollowerOf("orders", 0).resolve(run.observer)
    process, folder = run.kafka.process(broker), replica(run, broker)
    inode = folder.stat().st_ino
    run.inject(Bounce(FollowerOf("orders", 0)))
    assert process.status() in (0, SIGTERM_STATUS)
    assert run.kafka.process(broker).pid != process.pid
    jars = [str(jar) for jar in run.kafka.host(broker).class_path(run.kafka.version)]
    assert class_path(run, broker) == jars
    assert jars_open_in_worker(run) <= set(jars)
    assert answers(run, broker)
    assert folder.stat().st_ino == inode


def wipe(run: Run) -> None:
    data = run.kafka.data(PLAIN)
    before = bytes_in(data)
    with run.fault(Wipe(Broker(PLAIN))):
        assert before > 0
        assert not data.exists()
    run.settle()
    assert bytes_in(data) >= before


def fill(run: Run) -> None:
    """Full is only what this broker writes: the others go on in the same file system."""
    run.workload.start_producer(writer("burst", "orders", acks="1"), records_per_second=3000)
    with run.fault(Fill(Broker(PLAIN))):
        log = run.kafka.host(PLAIN).read(run.kafka.log_file(PLAIN)).decode()
        assert "all log dirs" in log.rstrip().split("\n")[-1]
        before = bytes_in(run.kafka.data(PLAIN))
        run.workload.await_acknowledged([LOAD], 100)
        assert bytes_in(run.kafka.data(PLAIN)) == before
        assert not answers(run, PLAIN)
    run.workload.stop_producer("burst")
    await_answer(run, PLAIN)


def cut(run: Run) -> None:
    """A minority of four brokers is one: not the active controller, so the one that is none."""
    node, other, client = run.kafka.host(PLAIN), run.kafka.host(1), run.clients.host
    (voter,) = Minority(Of.CONTROLLERS).resolve(run.observer)
    assert voter == max({1, 2, 3} - {run.observer.active_controller()})
    fault = Cut(Minority(Of.BROKERS), Links.BOTH)
    with run.fault(fault):
        assert fault.brokers == [PLAIN]
        assert not reaches(node, other)
        assert not reaches(other, node)
        assert not hears(node, other)
        assert not hears(other, node)
        await_reaches(client, node)
        await_led_by_other(run, PLAIN, partition=PLAIN - 1)
    await_reaches(node, other)
    await_hears(other, node)


def cut_in(run: Run) -> None:
    node, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.IN)):
        assert not hears(node, other)
        await_hears(other, node)
        await_reaches(run.clients.host, node)
    await_hears(node, other)


def cut_out(run: Run) -> None:
    node, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.OUT)):
        await_hears(node, other)
        assert not hears(other, node)
        await_reaches(run.clients.host, node)
    await_hears(other, node)


def cut_controllers(run: Run) -> None:
    node, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.CONTROLLERS)):
        assert not reaches(node, other, CONTROLLER_PORT)
        await_reaches(node, other, REPLICATION_PORT)
        await_reaches(run.clients.host, node)
        assert PLAIN not in run.observer.brokers_seen_by(1)
        assert answers(run, PLAIN)
    await_reaches(node, other, CONTROLLER_PORT)


def cut_replication(run: Run) -> None:
    node, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.REPLICATION)):
        assert not reaches(node, other, REPLICATION_PORT)
        await_reaches(node, other, CONTROLLER_PORT)
        run.await_out_of_isr("orders", 0, PLAIN)
        assert PLAIN in run.observer.brokers_seen_by(1)
    run.await_isr("orders", 0, BROKERS)


def cut_clients(run: Run) -> None:
    """Each broker is to lead a partition, which the faults before may have changed."""
    load = run.workload
    for partition, preferred in enumerate(BROKERS):
        if leader_of(run, "orders", partition) != preferred:
            run.inject(Elect("orders", partition, unclean=False))
    cut_off, *others = range(ORDERS.partitions)
    fault = Cut(FIRST, Links.CLIENTS)
    with run.fault(fault):
        load.await_acknowledged([LOAD], 100, partitions=others)
        before = load.acknowledged(LOAD, [cut_off])
        load.await_acknowledged([LOAD], 100, partitions=others)
        assert load.acknowledged(LOAD, [cut_off]) == before
        assert not reaches(run.clients.host, run.kafka.host(fault.broker), CLIENT_PORT)
        assert answers(run, fault.broker)
        run.await_isr("orders", cut_off, BROKERS)
    load.await_acknowledged([LOAD], 10, partitions=[cut_off])


def cut_bridge(run: Run) -> None:
    """With 2 as the bridge, 1 is one half, 3 and 4 are the other."""
    one, bridge, three, four = (run.kafka.host(broker) for broker in BROKERS)
    with run.fault(Bridge(Broker(2))):
        assert not reaches(one, three)
        assert not reaches(four, one)
        await_reaches(one, bridge)
        await_reaches(bridge, one)
        await_reaches(bridge, four)
        await_reaches(three, four)
        await_reaches(run.clients.host, one)
    await_reaches(four, one)


def pause_client(run: Run) -> None:
    with run.fault(PauseClient(run.clients.worker)):
        assert worker_status(run) == psutil.STATUS_STOPPED
    assert worker_status(run) != psutil.STATUS_STOPPED
    run.workload.await_acknowledged([LOAD], 10)


def kill_client(run: Run) -> None:
    """The group goes on without the killed member once its session has expired."""
    killed = run.consumers.workers_of(SHARED)[1]
    run.workload.start_reading(run.open([SHARED], incarnation=1))
    run.groups.await_members(SHARED.group, 2)
    run.inject(KillClient(killed.worker))
    assert processes_of(killed) == []
    run.groups.await_members(SHARED.group, 1)
    run.workload.forget(list(members_of([SHARED], incarnation=1, number=2)))
    run.consumers.replace(killed, bootstrap=run.kafka.bootstrap, kafka=run.kafka.version)
    run.workload.start_reading(run.open([SHARED], incarnation=2, number=2))
    run.groups.await_members(SHARED.group, 2)
    run.close(run.workload.stop_reading())


def cut_client(run: Run) -> None:
    client, observer, broker = run.clients.host, run.observer.worker.host, run.kafka.host(1)
    with run.fault(CutClient(run.clients.worker)):
        assert not reaches(client, broker)
        await_reaches(observer, broker)
    run.workload.await_acknowledged([LOAD], 10)


def restore_leaders(run: Run) -> None:
    """Told first: only a run's first fault finds the leaders that its topics were created with."""
    first, *_ = run.observer.replicas("orders", 0)
    stalled = run.kafka.host(first)
    stalled.pause()
    try:
        await_led_by_other(run, first)
    finally:
        stalled.resume()
    with run.fault(Pause(FollowerOf("orders", 0))):
        run.await_leader("orders", 0, first)


STORIES: dict[str, Callable[[Run], None]] = {
    "restore leaders": restore_leaders,
    "pause": pause,
    "elect": elect,
    "kill": kill,
    "kill all": kill_all,
    "stop": stop,
    "bounce": bounce,
    "wipe": wipe,
    "cut": cut,
    "cut in": cut_in,
    "cut out": cut_out,
    "cut controllers": cut_controllers,
    "cut replication": cut_replication,
    "cut clients": cut_clients,
    "cut bridge": cut_bridge,
    "fill": fill,
    "pause client": pause_client,
    "kill client": kill_client,
    "cut client": cut_client,
}


# The same verbs in vain.


def kill_in_vain(_run: Run) -> Ineffective:
    return Ineffective(Kill(Broker(PLAIN)), first_signal_swallowed)


def kill_what_is_dead(run: Run) -> Ineffective:
    run.kafka.kill_server(PLAIN)
    return Ineffective(Kill(Broker(PLAIN)))


def stop_in_vain(_run: Run) -> Ineffective:
    return Ineffective(Stop(Broker(PLAIN)), first_signal_swallowed)


def bounce_in_vain(_run: Run) -> Ineffective:
    return Ineffective(Bounce(Broker(PLAIN)), signals_swallowed, sees_nothing=True)


def bounce_what_is_dead(run: Run) -> Ineffective:
    run.kafka.kill_server(PLAIN)
    return Ineffective(Bounce(Broker(PLAIN)))


def wipe_in_vain(run: Run) -> Ineffective:
    return Ineffective(Wipe(Broker(PLAIN)), not_removed(run.kafka.data(PLAIN)))


def fill_in_vain(_run: Run) -> Ineffective:
    return Ineffective(Fill(Broker(PLAIN)), disk_not_limited)


def pause_in_vain(_run: Run) -> Ineffective:
    return Ineffective(Pause(Broker(PLAIN)), signals_swallowed, sees_nothing=True)


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


def pause_client_in_vain(run: Run) -> Ineffective:
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


def cut_in_vain(fault: Fault, means: Means, *, is_fencing: bool = False) -> Story:
    """A rule that only counts shows packets that pass, unless the broker has to be fenced first."""
    sees_nothing = is_fencing or means is rules_not_applied
    return lambda _run: Ineffective(fault, means, sees_nothing=sees_nothing)


def cut_client_in_vain(means: Means) -> Story:
    return lambda run: cut_in_vain(CutClient(run.clients.worker), means)(run)


LINKS = {
    "not applied": rules_not_applied,
    "only counted": rules_that_only_count,
}
IN_VAIN: dict[str, Story] = {
    "kill": kill_in_vain,
    "kill what is dead": kill_what_is_dead,
    "stop": stop_in_vain,
    "bounce": bounce_in_vain,
    "bounce what is dead": bounce_what_is_dead,
    "wipe": wipe_in_vain,
    "fill": fill_in_vain,
    "pause": pause_in_vain,
    "pause what is fenced": pause_what_is_fenced,
    "pause client": pause_client_in_vain,
    "pause a busy client": pause_a_busy_client,
    **{
        f"cut {links} {name}": cut_in_vain(
            Cut(Broker(1), links), means, is_fencing=links in FENCING
        )
        for links in Links
        for name, means in LINKS.items()
    },
    **{
        f"cut bridge {name}": cut_in_vain(Bridge(Broker(2)), means) for name, means in LINKS.items()
    },
    **{f"cut client {name}": cut_client_in_vain(means) for name, means in LINKS.items()},
}
