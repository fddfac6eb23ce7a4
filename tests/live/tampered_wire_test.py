"""Does a changed response break the rule that it is about?

Cluster: 3 brokers, as in epoch_protocol, which are the controllers too, and a TCP proxy on the
         observer's node.
Load:    as in epoch_protocol: a log of four epochs, of which the third has no record. A group of
         each protocol, a commit, an open transaction with offsets, a producer with a successor.
Fault:   the proxy decodes each request and its response, changes one of them (wire_tamperings.py,
         commit_tamperings.py, quorum_tamperings.py), and sends it on.
Expect:  test_tampered_wire.py compares the findings with the tamperings.
"""

import re
from pathlib import Path

import msgspec
from commit_tamperings import ABSENT, FETCHED, LATEST_IN_TRANSACTION, PENDING, SIMPLE, CommitFacts
from every_tampering import Facts, every_tampering
from quorum_tamperings import QuorumFacts
from tampering_proxy import ProxyPlan
from wire_tamperings import WireTampering

from cluster.kafka.topology import PASSWORD, Topology
from contract.protocol import METADATA_LOG, METADATA_LOG_ID
from contract.terms import Stage
from contract.waiting import wait_until
from harness.clients.observer_worker import ObserverRole
from harness.faults import Pause, Voter
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.wire.request import Broker
from harness.wire.requests import CLUSTER_ACTION, DESCRIBE, Login, list_offsets
from scenarios.epoch_protocol_test import (
    LOG_START,
    ORDERS,
    READER,
    REPLICA,
    STRANGER,
    Epochs,
    write_epochs,
)
from scenarios.offset_commits import Membership, Producer, WireCommits

PROXY = Path(__file__).with_name("tampering_proxy.py")
START_SECONDS = 60
FIRST_EPOCH = 1
"""Of a new quorum."""


class LyingWireScenario(Scenario):
    """One request for each tampering, by way of the proxy."""

    topology = Topology(brokers=3, principals=(READER, REPLICA, STRANGER))
    must_judge = ()

    def test_tampered_wire(self) -> None:
        with self.running(topics=[ORDERS]) as run:
            self.leave_first_epoch(run)
            run.create(assignment=[1, 2, 3])
            run.wire.allow(1, READER, DESCRIBE, topic="orders")
            run.wire.allow(1, REPLICA, CLUSTER_ACTION)
            run.watch()
            run.quorum.watch()
            epochs = write_epochs(run)
            run.log_ends(ORDERS)
            run.phases.enter(
                Stage.STEADY, "each broker shows its epoch, and the proxy changes responses"
            )
            for broker in run.kafka.topology.broker_ids:
                current = list_offsets(
                    topic="orders", version=9, current_leader_epoch=epochs.current
                )
                run.wire.call(broker, [current])
            commits = WireCommits(run.wire, run.observer)
            pending = commits.initialize("pending")
            facts = self.facts(run, epochs, commits, pending)
            port = self.open_proxy(run, facts)
            reported = every_tampering(facts)
            for before, tampering in zip([None, *reported], reported, strict=False):
                if tampering.after and before is not None and not before.after:
                    run.observer.delete_records("orders", 0, before_offset=LOG_START)
                self.send(run, port, tampering)
            commits.end(pending)
            run.settle()

    def leave_first_epoch(self, run: Run) -> None:
        """Let another voter lead, if the quorum is new: no Vote can be older than its epoch 1."""
        state = run.quorum.await_leader()
        if state.leader_epoch == FIRST_EPOCH:
            with run.fault(Pause(Voter(state.leader))):
                run.quorum.await_leader(above=FIRST_EPOCH)

    def facts(self, run: Run, epochs: Epochs, commits: WireCommits, pending: Producer) -> Facts:
        """Prepare groups, transactions and commits, and ask for the quorum."""
        topic_id = run.wire.topic_id("orders")
        zombie = commits.initialize("zombie")
        commits.initialize("zombie")
        classic = commits.join_classic("classic")
        consumer = commits.join_consumer("consumer", "first", "orders")
        groups = (SIMPLE, ABSENT.group, FETCHED, PENDING, classic.group, consumer.group)
        of_commits = CommitFacts(
            topic_id=topic_id,
            epoch=epochs.first,
            classic=classic,
            consumer=consumer,
            zombie=zombie,
            coordinators={group: commits.coordinator(group) for group in groups},
        )
        commits.send(FETCHED, of_commits.commit(Membership(group=FETCHED), of_commits.offset("a")))
        commits.commit_in(
            pending,
            Membership(group=PENDING),
            [of_commits.offset("b")],
            version=LATEST_IN_TRANSACTION,
        )
        state = run.quorum.await_agreement()
        follower = min(voter for voter in state.log_ends if voter != state.leader)
        of_quorum = QuorumFacts(
            leader=state.leader,
            follower=follower,
            epoch=state.leader_epoch,
            end=state.high_watermark,
        )
        return Facts(epochs=list(epochs), topic_id=topic_id, commits=of_commits, quorum=of_quorum)

    def open_proxy(self, run: Run, facts: Facts) -> int:
        """Start the proxy on the observer's node; return its port."""
        host = run.observer.worker.host
        folder = host.folder / "proxy"
        plan = ProxyPlan(
            address=host.address,
            brokers={
                broker: run.kafka.host(broker).address for broker in run.kafka.topology.broker_ids
            },
            facts=facts,
            jars=[str(jar) for jar in host.class_path(run.kafka.version)],
            log=str(folder / "jvm.log"),
        )
        host.write(folder / "plan.json", msgspec.json.encode(plan))
        output = folder / "output.log"
        command = [host.python, str(PROXY), str(folder / "plan.json")]
        host.spawn(command, log=output, env={"PYTHONPATH": str(PROXY.parent)})
        found = wait_until(
            lambda: re.search(rb"listening on (\d+)", host.read(output)),
            what="the proxy",
            timeout_seconds=START_SECONDS,
            recent=lambda: host.read(output).decode(errors="replace"),
        )
        return int(found[1])

    def send(self, run: Run, port: int, tampering: WireTampering) -> None:
        """Send the request of a tampering to the proxy."""
        login = None
        if tampering.principal is not None:
            login = Login(principal=tampering.principal, password=PASSWORD)
        run.observer.worker.call(
            ObserverRole.call_broker(
                tampering.broker,
                Broker(run.observer.worker.host.address, port, login),
                [tampering.request],
                topic_names={
                    run.wire.topic_id("orders"): "orders",
                    METADATA_LOG_ID: METADATA_LOG,
                    **tampering.names,
                },
            )
        )
