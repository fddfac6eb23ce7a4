"""A company of groups reads on after errors of its clients."""

from collections.abc import Sequence
from typing import cast

import pytest
from msgspec.structs import replace

from harness.story.company import Company
from harness.story.run import Run
from harness.story.workload import reader

GROUP = replace(reader("one", "t"), labels={"meets": "live"})


class ToldRun:
    """A run that writes down how often a member reads; its client fails a few times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.limits: list[float] = []

    def open(self, *_groups: object, **_options: object) -> None:
        """Nothing is to be opened."""

    def consume(self, members: Sequence[str], *, timeout_seconds: float) -> dict[str, str]:
        self.limits.append(timeout_seconds)
        ended = "failed" if len(self.limits) <= self.failures else "caught_up"
        return dict.fromkeys(members, ended)


@pytest.mark.parametrize(("again_seconds", "reads"), [(0, 1), (10, 4)])
def test_a_member_reads_on_after_each_error(*, again_seconds: float, reads: int) -> None:
    run = ToldRun(failures=3)
    company = Company(cast("Run", run), [GROUP])
    company.open()
    company.read(timeout_seconds=35, again_seconds=again_seconds)
    assert len(run.limits) == reads
    assert run.limits[0] == 35
    assert all(limit <= again_seconds for limit in run.limits[1:])
