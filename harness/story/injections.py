"""The faults of a run: injected one by one or together, and healed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from contract.stages import Stage
from harness.faults.fault import Fault, Field, HeldFault
from harness.story.phases import Phases


class Injections:
    """Holds the faults that are injected until they are healed."""

    def __init__(self, field: Field, phases: Phases) -> None:
        """Start without faults."""
        self._field = field
        self._phases = phases
        self._held: list[HeldFault] = []

    def inject(self, *faults: Fault) -> list[HeldFault]:
        """Inject faults in immediate succession, then prove them."""
        what = ", ".join(f"{fault.verb} {fault.target}" for fault in faults)
        self._phases.enter(Stage.HELD, what)
        held: list[HeldFault] = []
        for fault in faults:
            held.append(HeldFault.inject(fault, self._field))
            self._held.append(held[-1])
        for one in held:
            one.prove()
        return held

    @contextmanager
    def hold(self, *faults: Fault) -> Iterator[None]:
        """Inject faults, and heal them after the block, also after an exception."""
        held = self.inject(*faults)
        try:
            yield
        finally:
            with ExitStack() as heals:
                for one in held:
                    heals.callback(one.heal)

    def heal(self) -> None:
        """Heal all faults that still hold, the last one first; one that can't be stops no other."""
        with ExitStack() as heals:
            for one in self._held:
                heals.callback(one.heal)
            self._held.clear()
