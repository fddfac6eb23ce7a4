"""The log of clients that run in Python, in one form with the Java client's: UTC, one line each.

Each line names its member as the Java consumer's do: `[Consumer clientId=..., groupId=...]`.
"""

import logging
import threading
import time
from pathlib import Path

from harness.clients.commands import Member

_IO_THREAD = "kafka-io-"
"""How kafka-python names the thread of a consumer's event loop, before the client id."""


def open_log(path: Path) -> logging.Handler:
    """A handler that appends to a worker's client log; records must carry `member` and `group`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    formatter = logging.Formatter(
        "%(asctime)s.%(msecs)03d %(levelname)s %(name)s "
        "[Consumer clientId=%(member)s, groupId=%(group)s] %(message)s",
        datefmt="%Y-%m-%d %H:%M:%S",
        defaults={"member": "-", "group": "-"},
    )
    formatter.converter = time.gmtime
    handler = logging.FileHandler(path)
    handler.setFormatter(formatter)
    return handler


class MemberStamp(logging.Filter):
    """Stamps each record with one member."""

    def __init__(self, member: Member) -> None:
        """The member that speaks."""
        super().__init__()
        self._member = member

    def filter(self, record: logging.LogRecord) -> bool:
        """Stamp; lets everything through."""
        record.member = self._member.member
        record.group = self._member.group
        return True


class SpeakerLog(logging.Filter):
    """Tells which member a log record is about, as kafka-python's loggers are shared by all.

    It is the member whose event loop's thread speaks, or that for which the application's thread
    calls the client.
    """

    def __init__(self) -> None:
        """No member is known yet."""
        super().__init__()
        self._stamps: dict[str, MemberStamp] = {}
        self._calling = threading.local()

    def introduce(self, member: Member) -> None:
        """Make a member known before its client is opened."""
        self._stamps[member.member] = MemberStamp(member)

    def calls(self, member: Member) -> None:
        """From now on this thread calls the client of a member."""
        self._calling.member = member.member

    def filter(self, record: logging.LogRecord) -> bool:
        """Stamp the record; lets everything through."""
        thread = record.threadName or ""
        name = thread.removeprefix(_IO_THREAD)
        if name == thread:
            name = getattr(self._calling, "member", "")
        stamp = self._stamps.get(name)
        return stamp is None or stamp.filter(record)
