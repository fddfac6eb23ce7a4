"""Does a changed response break the rule that it is about?

Cluster: 3 brokers, as in epoch_protocol, and a TCP proxy on the observer's node.
Load:    as in epoch_protocol: a log of four epochs, of which the third has no record.
Fault:   the proxy decodes the response of each request, changes it (wire_lies.py), and sends it on.
Expect:  test_lying_wire.py compares the findings with the lies.
"""

import re
from pathlib import Path

import msgspec
from lying_proxy import ProxyPlan
from wire_lies import WireLie, lies

from cluster.kafka.topology import PASSWORD, Topology
from contract.stages import Stage
from contract.waiting import wait_until
from harness.clients.observer_commands import CallBroker
from harness.story.run import Run
from harness.story.scenario import Scenario
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

PROXY = Path(__file__).with_name("lying_proxy.py")
START_SECONDS = 60


class LyingWireScenario(Scenario):
    """One request for each lie, by way of the proxy."""

    topology = Topology(brokers=3, principals=(READER, REPLICA, STRANGER))
    must_judge = ()

    def test_lying_wire(self) -> None:
        with self.running(topics=[ORDERS]) as run:
            run.create(assignment=[1, 2, 3])
            run.wire.allow(1, READER, DESCRIBE, topic="orders")
            run.wire.allow(1, REPLICA, CLUSTER_ACTION)
            run.watch()
            epochs = write_epochs(run)
            run.log_ends(ORDERS)
            run.phases.enter(Stage.STEADY, "each broker shows its epoch, and the proxy lies")
            for broker in run.kafka.topology.broker_ids:
                current = list_offsets(
                    topic="orders", version=9, current_leader_epoch=epochs.current
                )
                run.wire.call(broker, [current])
            port = self.open_proxy(run, epochs)
            told = lies(epochs, run.wire.topic_id("orders"))
            for lie in told:
                if lie.after and not told[told.index(lie) - 1].after:
                    run.observer.delete_records("orders", 0, before_offset=LOG_START)
                self.send(run, port, lie)
            run.settle()

    def open_proxy(self, run: Run, epochs: Epochs) -> int:
        """Start the proxy on the observer's node; return its port."""
        host = run.observer.worker.host
        folder = host.folder / "proxy"
        plan = ProxyPlan(
            address=host.address,
            brokers={one: run.kafka.host(one).address for one in run.kafka.topology.broker_ids},
            epochs=list(epochs),
            topic_id=run.wire.topic_id("orders"),
            jars=[str(jar) for jar in host.class_path(run.kafka.version)],
            log=str(folder / "jvm.log"),
        )
        host.write(folder / "plan.json", msgspec.json.encode(plan))
        output = folder / "output.log"
        host.spawn([host.python, str(PROXY), str(folder / "plan.json")], log=output)
        found = wait_until(
            lambda: re.search(rb"listening on (\d+)", host.read(output)),
            what="the proxy",
            timeout_seconds=START_SECONDS,
            recent=lambda: host.read(output).decode(errors="replace"),
        )
        return int(found[1])

    def send(self, run: Run, port: int, lie: WireLie) -> None:
        """Send the request of a lie to the proxy."""
        login = None
        if lie.principal is not None:
            login = Login(principal=lie.principal, password=PASSWORD)
        run.observer.worker.call(
            CallBroker(
                broker=lie.broker,
                address=run.observer.worker.host.address,
                port=port,
                requests=[lie.request],
                topic_names={run.wire.topic_id("orders"): "orders"},
                login=login,
            )
        )
