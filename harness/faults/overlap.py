"""Which faults can hold at the same time, and by which names one of them is healed."""

from collections.abc import Sequence

from contract.errors import TargetError
from harness.faults.fault import Fault, HeldFault


def require_compatible(new: Fault, held: Sequence[HeldFault], *, is_alone: bool = False) -> None:
    """Refuse a fault that can have no effect beside those that hold; its target is resolved.

    With `is_alone` a server or worker has one fault at a time: what heals one may wait for a state
    that another prevents, as a start of a broker whose packets are dropped.

    Raises:
        TargetError: one of its servers, or its worker, is out of service by another fault, or has
            the same fault; with `is_alone`, has any.
    """
    for other in held:
        shared = ", ".join(sorted(_places(new) & _places(other.fault)))
        if shared and (other.fault.silences or other.fault.verb == new.verb):
            raise TargetError(
                f"{new.verb} {new.target} can have no effect on {shared} while "
                f"{describe_fault(other)} holds; heal that first: fencepost play heal "
                f"{other.number}"
            )
        if shared and is_alone:
            raise TargetError(f"{describe_fault(other)} holds on {shared} already")


def describe_fault(held: HeldFault) -> str:
    """Return a fault in words, with its number."""
    return f"fault {held.number} ({held.fault.verb} {held.fault.target})"


def names_of(held: HeldFault) -> set[str]:
    """Return what a fault is called: its number, its verb, its target, or verb and target."""
    verb, target = held.fault.verb.replace(" ", "-"), held.fault.target.name
    return {str(held.number), verb, target, f"{verb} {target}"}


def _places(fault: Fault) -> set[str]:
    """Return the servers and the worker that a fault acts on."""
    servers = {f"server {server}" for server in fault.target.brokers}
    return servers if fault.target.worker is None else {f"worker {fault.target.worker}"}
