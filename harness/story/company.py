"""Groups of several clients beside each other: a client that fails does not end the story."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from contract.errors import FencepostError
from contract.run_folder import GroupPlan
from harness.story.consumers import members_of
from harness.story.run import Run

_FAILED = "failed"


class Company:
    """Orders the groups of a story, each client by itself.

    A client whose worker fails or does not respond takes no further part, and a note of the report
    says why. The verbs return nothing: what comes out is in the histories.
    """

    def __init__(self, run: Run, groups: Sequence[GroupPlan], *, first: int = 1) -> None:
        """All groups take part; `first` is the number of their first members."""
        self._run = run
        self._first = first
        self._groups = list(groups)
        self._incarnations = {group.group: 0 for group in groups}

    def groups(self, meets: str = "") -> list[GroupPlan]:
        """Return the groups that still take part, all or those of a label `meets`."""
        return [group for group in self._groups if meets in ("", group.labels["meets"])]

    def open(self, meets: str = "") -> None:
        """Open the first members of groups in their next incarnation."""

        def act(groups: list[GroupPlan]) -> None:
            for group in groups:
                self._incarnations[group.group] += 1
            self._open(groups, number=self._first)

        self._each(meets, act)

    def join(self, number: int) -> None:
        """Open the members of another number beside the first ones."""
        self._each("", lambda groups: self._open(groups, number=number))

    def read(self, meets: str = "", *, timeout_seconds: float, again_seconds: float = 0) -> None:
        """Let first members read to the log ends.

        Those whose client reports an error poll on for `again_seconds`, also after further errors:
        some report one for each attempt to reach a broker that was killed.
        """

        def act(groups: list[GroupPlan]) -> None:
            ended = self._run.consume(
                self._all(groups, self._first), timeout_seconds=timeout_seconds
            )
            deadline = time.monotonic() + again_seconds
            while (raised := [name for name, how in ended.items() if how == _FAILED]) and (
                left := deadline - time.monotonic()
            ) > 0:
                ended = self._run.consume(raised, timeout_seconds=left)

        self._each(meets, act)

    def commit(self, meets: str = "") -> None:
        """Let first members commit their positions; those that commit by themselves do so."""

        def act(groups: list[GroupPlan]) -> None:
            for group in groups:
                self._run.commit(
                    [group], incarnation=self._incarnations[group.group], number=self._first
                )

        self._each(meets, act)

    def close(self, meets: str = "", *, number: int | None = None) -> None:
        """Close the members of one number, by default the first ones."""
        self._each(
            meets,
            lambda groups: self._run.close(self._all(groups, number or self._first)),
        )

    def start_reading(self, *, number: int = 1) -> None:
        """Let members of one number read on and commit, also after errors of their clients."""
        self._each(
            "",
            lambda groups: self._run.workload.start_reading(
                self._all(groups, number), is_persistent=True
            ),
        )

    def stop_reading(self, *, number: int = 1) -> None:
        """Let members of one number end their polls."""
        self._each("", lambda groups: self._run.workload.stop_reading(self._all(groups, number)))

    def await_members(self, count: int) -> None:
        """Wait until each group is stable with a number of members."""

        def act(groups: list[GroupPlan]) -> None:
            for group in groups:
                self._run.groups.await_members(group.group, count)

        self._each("", act)

    def await_no_members(self) -> None:
        """Wait until each group is empty: its members have left it, or were evicted."""

        def act(groups: list[GroupPlan]) -> None:
            for group in groups:
                self._run.groups.await_no_members(group.group)

        self._each("", act)

    def workers(self) -> list[str]:
        """Return the workers of the first members, by name."""
        place = self._first - 1
        every = (self._run.consumers.workers_of(group)[place] for group in self._groups)
        return list(dict.fromkeys(worker.worker for worker in every))

    def _open(self, groups: Sequence[GroupPlan], *, number: int) -> None:
        for group in groups:
            self._run.open([group], incarnation=self._incarnations[group.group], number=number)

    def _all(self, groups: Sequence[GroupPlan], number: int) -> list[str]:
        return [name for group in groups for name in self._of(group, number)]

    def _of(self, group: GroupPlan, number: int) -> list[str]:
        return list(members_of([group], incarnation=self._incarnations[group.group], number=number))

    def _each(self, meets: str, act: Callable[[list[GroupPlan]], object]) -> None:
        """Let each client act in a thread of its own."""
        by_client: dict[str, list[GroupPlan]] = {}
        for group in self.groups(meets):
            by_client.setdefault(group.client, []).append(group)
        if not by_client:
            return
        with ThreadPoolExecutor(len(by_client)) as pool:
            acting = {client: pool.submit(act, groups) for client, groups in by_client.items()}
        for client, future in acting.items():
            if (error := future.exception()) is None:
                continue
            if not isinstance(error, FencepostError):
                raise error
            first = str(error).partition("\n")[0]
            self._run.note(f"{client} takes no further part: {first}")
            self._groups = [group for group in self._groups if group.client != client]
