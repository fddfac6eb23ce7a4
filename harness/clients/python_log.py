"""The log of Python clients, in the format of the Java client's: UTC, one line per message.

Each line names its member as the Java consumer does: `[Consumer clientId=..., groupId=...]`.
"""

import logging
import threading
import time
from pathlib import Path

from harness.clients.commands import Member

_IO_THREAD = "kafka-io-"
"""The prefix of the client id in the name of the thread of a consumer's event loop."""


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
    """Adds one member to each record."""

    def __init__(self, member: Member) -> None:
        """`member` is the member of all lines."""
        super().__init__()
        self._member = member

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the member; never drops a record."""
        record.member = self._member.member
        record.group = self._member.group
        return True


class SpeakerLog(logging.Filter):
    """Adds to each log record its member, as kafka-python's loggers are shared by all members.

    It is the member whose event loop runs in the record's thread, or whose client that thread
    calls.
    """

    def __init__(self) -> None:
        """Start without members."""
        super().__init__()
        self._stamps: dict[str, MemberStamp] = {}
        self._calling = threading.local()

    def introduce(self, member: Member) -> None:
        """Register a member before its client is opened."""
        self._stamps[member.member] = MemberStamp(member)

    def calls(self, member: Member) -> None:
        """Note that this thread calls a member's client from now on."""
        self._calling.member = member.member

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the member; never drops a record."""
        thread = record.threadName or ""
        name = thread.removeprefix(_IO_THREAD)
        if name == thread:
            name = getattr(self._calling, "member", "")
        stamp = self._stamps.get(name)
        return stamp is None or stamp.filter(record)
