"""What does a real cluster do when faults are injected by hand?

Cluster: 3 brokers and the topic orders, or what `fencepost play start` was asked for.
Load:    what `fencepost play produce` and `consume` start, and programs of the user.
Fault:   those that `fencepost play fault` injects.
Expect:  nothing; a violation fails it. It runs until `fencepost play stop`.
"""

import os
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Plan, RunDescription
from contract.software import CLASSIC
from contract.terms import Check
from harness.playground.serve import serve
from harness.playground.shape import shape_asked
from harness.playground.state import SOCKET_FOLDER, Playground, Server, write_down
from harness.story.run import Run
from harness.story.scenario import Scenario

_SHAPE = shape_asked()


class PlaygroundScenario(Scenario):
    """Runs until it is stopped."""

    topology = _SHAPE.topology
    spares: ClassVar = {client: 1 for client in CLASSIC if not client.about.is_java}
    must_judge = (Check.LOST_RECORD,)
    answer = (
        "Of {{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records(acks=1) }} with acks=1 and {{ lost_record.records(acks='all') }} "
        "with acks=all were lost. Deposed leaders acknowledged "
        "{{ served_under_fenced_epoch.records(kind='accepted_by_zombie') | noun('record') }} "
        "after the epochs of their successors had begun. Groups skipped "
        "{{ skipped_record.records | noun('record') }}."
    )

    def test_playground(self) -> None:
        """Start the cluster, write its state file, and serve orders."""
        with self.running(topics=_SHAPE.topics) as run:
            run.create(assignment=self.topology.broker_ids, is_spread=_SHAPE.is_spread)
            run.watch()
            path = Path(os.environ[SOCKET_FOLDER]) / "socket"
            serve(run, path, ready=lambda: self._write_down(run, path))

    def _describe(self, plan: Plan, shape: Topology, starts_on: str | None) -> RunDescription:
        """Its command starts such a cluster again; what was done by hand is in its history."""
        described = super()._describe(plan, shape, starts_on)
        return replace(described, rerun=self.session.command)

    def _write_down(self, run: Run, path: Path) -> None:
        kafka = run.kafka
        playground = Playground(
            cluster=self.session.cluster,
            kafka=kafka.version,
            topics=[topic.topic for topic in _SHAPE.topics],
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
            client_shell=run.clients.host.shell_command(),
            socket=str(path),
        )
        write_down(playground, Path(self.session.results))
