"""What a fault did, seen otherwise than the fault itself sees it: by processes, files, packets."""

from pathlib import Path

import psutil

from cluster.kafka.topology import CLIENT_PORT
from cluster.nodes.node import Node
from contract.events import DECODER, GroupChanged
from contract.waiting import wait_until
from harness.clients.process import WorkerService
from harness.story.run import Run

_SECONDS = 30
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)"
_RAW = "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)"
"""Of a protocol number for experiments (RFC 3692), so that nothing else answers or listens."""

_HEAR = f"{_RAW}; print('up', flush=True); input(); s.settimeout(0.2); s.recv(99)"
_SAY = (
    f"{_RAW}; import select\n"
    "for _ in range(8): s.sendto(b'!', (sys.argv[1], 0)); select.select([], [], [], 0.03)"
)
"""Over and over, since a single packet may lie in a queue until the next one comes."""


def leader_of(run: Run, topic: str, partition: int = 0) -> int:
    return run.observer.await_state(
        topic, partition, lambda state: state.leader >= 0, what="a leader"
    ).leader


def await_led_by_other(run: Run, broker: int, topic: str = "orders", partition: int = 0) -> None:
    run.observer.await_state(
        topic,
        partition,
        lambda state: state.leader not in (-1, broker),
        what=f"another leader than {broker}",
    )


def is_stopped(run: Run, server: int) -> bool:
    status: str = psutil.Process(run.kafka.process(server).pid).status()
    return status == psutil.STATUS_STOPPED


def worker(run: Run) -> psutil.Process:
    """The process with the Java clients."""
    (found,) = processes_of(run.clients)
    return found


def processes_of(service: WorkerService) -> list[psutil.Process]:
    """A worker's process, while there is one."""
    plan = str(service.folder / "plan.json")
    return [p for p in psutil.process_iter(["cmdline"]) if plan in (p.info["cmdline"] or [])]


def worker_status(run: Run) -> str:
    status: str = worker(run).status()
    return status


def jars_open_in_worker(run: Run) -> set[str]:
    """Without that of JPype, which is its agent."""
    jars = {file.path for file in worker(run).open_files() if file.path.endswith(".jar")}
    return {jar for jar in jars if not jar.endswith("/org.jpype.jar")}


def class_path(run: Run, server: int) -> list[str]:
    command = psutil.Process(run.kafka.process(server).pid).cmdline()
    return str(command[command.index("-cp") + 1]).split(":")


def answers(run: Run, broker: int) -> bool:
    return bool(run.observer.brokers_seen_by(broker))


def await_answer(run: Run, broker: int) -> None:
    what = f"broker {broker} to answer"
    wait_until(lambda: answers(run, broker), what=what, timeout_seconds=_SECONDS)


def replica(run: Run, broker: int, topic: str = "orders", partition: int = 0) -> Path:
    return run.kafka.data(broker) / f"{topic}-{partition}"


def segments(folder: Path) -> list[int]:
    """Base offsets, the oldest first."""
    return sorted(int(file.stem) for file in folder.glob("*.log"))


def bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*/*.log"))


def newest_epoch_on_disk(run: Run, broker: int) -> int:
    lines = (replica(run, broker) / "leader-epoch-checkpoint").read_text().split("\n")
    return max(int(line.split()[0]) for line in lines[2:] if line)


def topic_ids_on_disk(run: Run, topic: str) -> set[str]:
    """As the replicas' own files tell them; empty where there is none (yet)."""
    files = [
        replica(run, broker, topic) / "partition.metadata"
        for broker in run.kafka.topology.broker_ids
    ]
    return {
        file.read_text().partition("topic_id: ")[2].strip() if file.exists() else ""
        for file in files
    }


def changes_of(run: Run, group: str, change: str) -> int:
    """How often a member told of a partition that it was given or lost one."""
    events = map(DECODER.decode, run.clients.host.read(run.clients.history_file).splitlines()[:-1])
    return sum(
        isinstance(event, GroupChanged) and (event.group, event.change) == (group, change)
        for event in events
    )


def await_changes(run: Run, group: str, change: str, times: int) -> None:
    wait_until(
        lambda: changes_of(run, group, change) >= times,
        what=f"{times} partitions of {group} to be {change}",
        timeout_seconds=_SECONDS,
        last_seen=lambda: changes_of(run, group, change),
    )


def reaches(caller: Node, server: Node, port: int = CLIENT_PORT) -> bool:
    call = [caller.python, "-c", _CONNECT, server.address, str(port)]
    return caller.run(call, timeout_seconds=10, check=False).status == 0


def hears(listener: Node, speaker: Node) -> bool:
    """Whether packets pass this one way."""
    log = listener.folder / "hears.log"
    listener.remove(log)
    hearing = listener.spawn([listener.python, "-c", _HEAR], log=log)
    wait_until(lambda: bool(listener.read(log)), what="the listener", timeout_seconds=10)
    say = [speaker.python, "-c", _SAY, listener.address]
    speaker.run(say, timeout_seconds=10, check=False)
    hearing.send_line("all is said")
    return hearing.wait(10) == 0


def await_reaches(caller: Node, server: Node, port: int = CLIENT_PORT) -> None:
    what = f"{caller.name} to reach {server.name}"
    wait_until(lambda: reaches(caller, server, port), what=what, timeout_seconds=_SECONDS)


def await_hears(listener: Node, speaker: Node) -> None:
    """One time is enough: what is dropped is never heard."""
    what = f"{listener.name} to hear {speaker.name}"
    wait_until(lambda: hears(listener, speaker), what=what, timeout_seconds=_SECONDS)
