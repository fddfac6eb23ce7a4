"""The metadata quorum: its leader, writes to single controllers, and what its voters have."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import NamedTuple

from cluster.kafka.topology import CONTROLLER_PORT
from cluster.nodes.node import NodeState
from contract.errors import WorkerError
from harness.clients.observer import Observer
from harness.clients.observer_worker import ObserverRole
from harness.clients.views import QuorumState
from harness.story.wire import Wire
from harness.wire.requests import WireRequest, add_voter, alter_quota, remove_voter

_DIVERGED_SECONDS = 10
_SAMPLE_INTERVAL_MS = 250
_UNANSWERED_SECONDS = 0.3
_CHANGE_SECONDS = 40.0
_TURNS_SECONDS = 120
_WRITES = 2


class Turns(NamedTuple):
    """Two voters, of which one led before and after the other; `epoch` is the last of the three."""

    twice: int
    between: int
    epoch: int


def turns_in(led: Mapping[int, int]) -> Turns | None:
    """Return two voters that led in turn, by the leaders of epochs; None if none did."""
    leaders = sorted(led.items())
    for epoch, leader in leaders:
        own = [earlier for earlier, other in leaders if other == leader and earlier < epoch]
        between = [other for earlier, other in leaders if own and own[0] < earlier < epoch]
        others = [other for other in between if other != leader]
        if others:
            return Turns(leader, others[0], epoch)
    return None


class Quorum:
    """Asks each controller for itself, by its own listener.

    Attributes:
        wire: single requests to single controllers.
    """

    wire: Wire

    def __init__(self, observer: Observer) -> None:
        """Use the observer's worker."""
        self._observer = observer
        self._numbers = count()
        self.wire = Wire(observer, port=CONTROLLER_PORT)

    @property
    def controllers(self) -> list[int]:
        """The ids of the controllers."""
        return self._observer.kafka.topology.controller_ids

    def watch(self) -> None:
        """Sample every controller four times a second, until the end."""
        controllers = {i: self._observer.listener(i, CONTROLLER_PORT) for i in self.controllers}
        self._observer.worker.call(
            ObserverRole.watch_quorum(controllers, interval_ms=_SAMPLE_INTERVAL_MS)
        )

    def seen_by(self, controller: int) -> QuorumState | None:
        """Return the quorum according to a controller; None if it does not lead or respond."""
        kafka = self._observer.kafka
        if not kafka.is_running(controller) or kafka.host(controller).state is NodeState.SUSPENDED:
            return None
        listener = self._observer.listener(controller, CONTROLLER_PORT)
        return self._observer.worker.call(ObserverRole.describe_quorum(controller, listener))

    def await_leader(self, *, above: int = -1) -> QuorumState:
        """Wait until a controller leads in a newer epoch and has committed an entry of it.

        Raises:
            WaitTimeoutError: none does.
        """
        return self._observer.await_value(
            self._newest,
            lambda newest: newest.leader_epoch > above,
            what=f"a leader of the quorum in an epoch above {above}, with a high watermark",
        )

    def await_turns(self, voters: Iterable[int], *, above: int) -> Turns:
        """Wait until two voters have led in turn, in epochs above one: this, that, and this again.

        Neither has to have committed anything.

        Raises:
            WaitTimeoutError: they have not; shows the leaders by epoch.
        """
        asked = list(voters)
        led: dict[int, int] = {}

        def probe() -> Turns | None:
            views = [state for i in asked if (state := self.seen_by(i)) is not None]
            led.update(
                {view.leader_epoch: view.leader for view in views if view.leader_epoch > above}
            )
            return turns_in(led)

        return self._observer.await_that(
            probe,
            what=f"two of controllers {asked} to lead in turn, the first one twice",
            timeout_seconds=_TURNS_SECONDS,
            last_seen=lambda: led,
        )

    def await_commit(self, *, beyond: int) -> QuorumState:
        """Wait until the high watermark is above an offset.

        Raises:
            WaitTimeoutError: it is not.
        """
        return self._observer.await_value(
            self._newest,
            lambda newest: newest.high_watermark > beyond,
            what=f"metadata beyond offset {beyond} to be committed",
        )

    def write(self, controller: int) -> None:
        """Send metadata to one controller without waiting until it is committed.

        It is the quota of a user that does not exist.
        """
        user = f"user-{next(self._numbers)}"
        self.wire.call(controller, [alter_quota(user)], timeout_seconds=_UNANSWERED_SECONDS)

    def diverge(self, leader: int) -> QuorumState:
        """Write to a leader that the others don't fetch from, until its log ends beyond theirs.

        A Fetch that the leader held open takes the first of these entries along, even if the other
        voter can't send another one. So at least two are written. Returns the leader's view.

        Raises:
            WaitTimeoutError: the leader resigned first, or the others still fetch.
        """
        for _ in range(_WRITES):
            self.write(leader)

        def is_beyond(state: QuorumState) -> bool:
            others = [end for voter, end in state.log_ends.items() if voter != leader]
            return state.log_ends[leader] > max(others) + 1

        return self._observer.await_value(
            lambda: self.seen_by(leader),
            is_beyond,
            what=f"the log of controller {leader} to end beyond those of the other voters",
            timeout_seconds=_DIVERGED_SECONDS,
        )

    def await_agreement(self) -> QuorumState:
        """Wait until every voter has fetched what was committed when the wait began.

        Raises:
            NodeError: a controller has ended; shows the end of its log.
            WaitTimeoutError: some have not.
        """
        committed: list[int] = []

        def newest() -> QuorumState | None:
            for controller in self.controllers:
                self._observer.kafka.require_running(controller)
            return self._newest()

        def is_agreed(state: QuorumState) -> bool:
            committed.append(state.high_watermark)
            return min(state.log_ends.values()) >= committed[0]

        return self._observer.await_value(
            newest, is_agreed, what="all voters to have the metadata that is committed"
        )

    def add_voter(self, controller: int) -> QuorumState:
        """Let a spare controller vote (KIP-853), and wait until the leader counts it as a voter.

        Raises:
            WorkerError: the leader refused.
            WaitTimeoutError: it does not become a voter.
        """
        directory = self._observer.kafka.directory_id(controller)
        self._change(add_voter(controller, directory, self._address(controller), CONTROLLER_PORT))
        return self._await_voters(lambda voters: controller in voters, f"{controller} to vote")

    def remove_voter(self, controller: int) -> QuorumState:
        """Let a controller vote no more (KIP-853), and wait until the leader does not count it.

        Raises:
            WorkerError: the leader refused.
            WaitTimeoutError: it goes on voting.
        """
        directory = self._observer.kafka.directory_id(controller)
        self._change(remove_voter(controller, directory))
        what = f"{controller} not to vote any more"
        return self._await_voters(lambda voters: controller not in voters, what)

    def _change(self, request: WireRequest) -> None:
        leader = self.await_leader().leader
        (result,) = self.wire.call(leader, [request], timeout_seconds=_CHANGE_SECONDS)
        if result.response is None or result.response["errorCode"]:
            raise WorkerError(f"controller {leader} refused {request.api}: {result}")

    def _await_voters(self, are_met: Callable[[set[int]], bool], what: str) -> QuorumState:
        return self._observer.await_value(
            self._newest, lambda state: are_met(set(state.log_ends)), what=f"controller {what}"
        )

    def _newest(self) -> QuorumState | None:
        """Return the view of the newest leader; None while it has committed nothing."""
        found = [state for i in self.controllers if (state := self.seen_by(i)) is not None]
        newest = max(found, key=lambda state: state.leader_epoch, default=None)
        return newest if newest is not None and newest.high_watermark >= 0 else None

    def _address(self, controller: int) -> str:
        return self._observer.kafka.host(controller).address
