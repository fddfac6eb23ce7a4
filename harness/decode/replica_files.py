"""Which files below a server's folder are replicas' segments, by Kafka's rules for their names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SEGMENT = re.compile(r"\d{20}\.log")
_REPLICA = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")


@dataclass(frozen=True)
class Replica:
    """One replica's folder."""

    broker: int
    topic: str
    partition: int
    folder: Path

    @property
    def segments(self) -> list[Path]:
        """Its segment files, by base offset."""
        return sorted(path for path in self.folder.glob("*.log") if _SEGMENT.fullmatch(path.name))


def replicas(segments: Path) -> Iterator[Replica]:
    """The replicas of all servers; folders with other names than Kafka's are left out."""
    for server in sorted(path for path in segments.iterdir() if path.name.isdigit()):
        for folder in sorted(path for path in server.iterdir() if path.is_dir()):
            if name := _REPLICA.fullmatch(folder.name):
                yield Replica(int(server.name), name["topic"], int(name["partition"]), folder)


def ignored_files(server: Path) -> int:
    """How many files in a server's folder look like segments, and are none by their names."""
    found = 0
    for path in server.glob("*/*.log"):
        is_replica = _REPLICA.fullmatch(path.parent.name) is not None
        found += is_replica and not _SEGMENT.fullmatch(path.name)
    return found
