"""Hold the response to a client's next request of an API, or put an error in its place.

Clients must reach the brokers through the proxy (`Topology.is_proxied`). The responses that follow
on the same connection wait, too: a client gets responses in the order of its requests.
"""

from collections.abc import Callable

import msgspec

from contract.errors import FaultError
from contract.terms import FaultTarget, TargetKind
from harness.clients.observer_worker import ObserverRole
from harness.faults.fault import Evidence, Fault, Field
from harness.wire.proxy import Message

_FOUND_SECONDS = 20
_PASSED_SECONDS = 10


class OnMessage(Fault):
    """A fault on the response to the next request of an API that a member of a group sends."""

    error: str | None = None

    def __init__(self, api: str, group: str, *, by: Callable[[], object] = lambda: None) -> None:
        """`api` as in `ApiKeys`, e.g. `OFFSET_FETCH`; `by` lets the member send the request.

        It must not wait for the response. Without it the member has to send one by itself.
        """
        self.target = FaultTarget(target_kind=TargetKind.GROUP, group=group)
        self._api, self._group, self._by = api, group, by
        self._number = -1

    def prepare(self, field: Field) -> None:
        """Check that the clients use the proxy.

        Raises:
            FaultError: they do not.
        """
        if not field.kafka.topology.is_proxied:
            raise FaultError(
                f"{self.verb} {self.target}: clients reach brokers without a proxy; set is_proxied "
                "in the topology"
            )

    def inject(self, field: Field) -> None:
        """Let the proxy look for the request, and the member send it."""
        self._number = field.observer.worker.call(
            ObserverRole.look_for(self._api, f"{self._group}#", error=self.error)
        )
        self._by()

    def found(self, field: Field) -> Message | None:
        """The request that the proxy found, with the outcome of its response."""
        return field.observer.worker.call(ObserverRole.find_message(self._number))

    def await_message(
        self, field: Field, reached: Callable[[Message], bool], *, what: str
    ) -> Message:
        """Wait for a request and its response.

        Raises:
            WaitTimeoutError: it did not come.
        """
        return field.observer.await_value(
            lambda: self.found(field),
            lambda message: message.is_closed or reached(message),
            what=f"{self._api} of group {self._group} {what}",
            timeout_seconds=_FOUND_SECONDS,
        )

    def evidence(self, message: Message) -> Evidence:
        """Landed unless the client gave up its connection before."""
        facts = {"api": self._api, **msgspec.to_builtins(message)}
        return Evidence(landed=not message.is_closed, facts=facts)


class Hold(OnMessage):
    """The broker's response waits until the heal, which lets it pass."""

    verb = "hold"

    def prove(self, field: Field) -> Evidence:
        """Landed when the broker has responded, and the client does not get it."""
        message = self.await_message(
            field, lambda message: message.responded_micros is not None, what="to be responded to"
        )
        return self.evidence(message)

    def lapse(self, field: Field) -> str:
        """The client closed its connection."""
        message = self.found(field)
        is_held = message is not None and not message.is_closed
        return "" if is_held else "the client closed the connection of the held response"

    def heal(self, field: Field) -> None:
        """Let it pass, and wait until it is sent."""
        field.observer.worker.call(ObserverRole.release(self._number))
        message = self.found(field)
        if message is not None and message.responded_micros is not None:
            field.observer.await_value(
                lambda: self.found(field),
                lambda message: message.is_closed or message.passed_micros is not None,
                what=f"the held response of group {self._group} to be sent",
                timeout_seconds=_PASSED_SECONDS,
            )


class Refuse(OnMessage):
    """The client gets an error; the broker does not get the request."""

    verb = "refuse"
    is_instant = True

    def __init__(
        self, api: str, group: str, *, error: str, by: Callable[[], object] = lambda: None
    ) -> None:
        """`error` as in `Errors`, e.g. `NOT_COORDINATOR`; the others as for `Hold`."""
        super().__init__(api, group, by=by)
        self.error = error

    def prove(self, field: Field) -> Evidence:
        """Landed when the error was sent to the client; no later request is refused."""
        try:
            message = self.await_message(
                field, lambda message: message.passed_micros is not None, what="to be refused"
            )
        finally:
            field.observer.worker.call(ObserverRole.release(self._number))
        found = self.evidence(message)
        return Evidence(landed=found.landed, facts={**found.facts, "error": self.error})

    def heal(self, field: Field) -> None:
        """Do nothing: the client has its response."""
