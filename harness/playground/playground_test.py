"""What does a real cluster do when faults are injected by hand?

Cluster: 3 brokers, one topic of 3 partitions with 3 replicas.
Fault:   those that `fencepost fault` injects.
Expect:  nothing. It runs until `fencepost playground --stop` or `make clean`.
"""

import os
from pathlib import Path

from cluster.kafka.topology import Topology
from harness.playground.serve import serve
from harness.playground.state import SOCKET_FOLDER, Playground, Server, write_down
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic


class PlaygroundScenario(Scenario):
    """Runs until it is stopped."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=3)
    must_judge = ()

    def test_playground(self) -> None:
        """Start the cluster, write its state file, and serve orders."""
        with self.running(topics=[self.orders]) as run:
            run.create(assignment=[1, 2, 3])
            path = Path(os.environ[SOCKET_FOLDER]) / "socket"
            serve(run, path, ready=lambda: self._write_down(run, path))

    def _write_down(self, run: Run, path: Path) -> None:
        kafka = run.kafka
        playground = Playground(
            cluster=self.session.cluster,
            kafka=kafka.version,
            topic=self.orders.topic,
            bootstrap=kafka.bootstrap,
            jars=str(kafka.host(1).class_path(kafka.version)[0].parent),
            servers=[
                Server(
                    id=server_id,
                    roles=kafka.topology.roles(server_id),
                    node=kafka.host(server_id).name,
                    address=kafka.host(server_id).address,
                    shell=kafka.host(server_id).shell_command(),
                    log=str(kafka.log_file(server_id)),
                )
                for server_id in kafka.topology.server_ids
            ],
            socket=str(path),
        )
        write_down(playground, Path(self.session.results))
