"""What a scenario's file expects now of a run that was made before."""

import inspect
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import Any, NoReturn

from contract.errors import UsageError, lacking
from contract.run_folder import Expectation, Expected, Plan, RunFolder
from contract.software import released
from contract.terms import Check
from harness.invocation import session_of
from harness.session.catalog import ScenarioFile
from harness.session.ducktape_session import classes_of
from harness.story.scenario import Scenario


class _PlannedError(Exception):
    """A story has come to where its cluster would be started."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan


def expected_of(file: ScenarioFile, folder: RunFolder) -> Expected:
    """Return what a file expects; its story goes up to where its cluster would be started.

    Raises:
        UsageError: the run is of another scenario, has no data, or its story does not come so far.
    """
    stored, run = folder.plan(), folder.run()
    if stored.scenario != file.name:
        raise UsageError(f"{folder.path} is a run of {stored.scenario}, not of {file.path}")
    if folder.is_removed:
        raise UsageError(f"{folder.path} keeps the verdict that it has: its data were removed")
    build = run.build or released(run.kafka)
    names = run.run_id.split(".")
    found = [
        (cls, name)
        for cls in classes_of(file.path, build)
        for name in vars(cls)
        if cls.__name__ in names and name in names and name.startswith("test_")
    ]
    if not found:
        raise UsageError(f"{file.path} has no longer the test of {run.run_id}")
    cls, name = found[0]
    session = session_of(seed=run.seed, kafka=run.kafka, cluster=run.cluster, build=build)
    plan = _plan_of(cls, name, stored.parameters, session)
    _require_known(plan, stored)
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Expected(
        source=f"{file.path.name} as of {now}",
        question=plan.question,
        must_judge=plan.must_judge,
        expects=plan.expects,
        answer=plan.answer,
        follows=plan.follows,
    )


def _plan_of(cls: type[Scenario], name: str, parameters: dict[str, Any], session: Any) -> Plan:
    scenario = cls.__new__(cls)
    scenario.session, scenario.random = session, Random(session.seed)
    scenario.test_context = SimpleNamespace(injected_args=parameters, function_name=name)

    def stop(
        *, expects: Sequence[Expectation] = (), must_judge: Sequence[Check] = (), **_: object
    ) -> NoReturn:
        raise _PlannedError(scenario._plan([], [], [], expects, must_judge))  # noqa: SLF001

    scenario.running = stop  # type: ignore[method-assign]  # instead of a cluster
    file = inspect.getfile(cls)
    try:
        getattr(scenario, name)(**parameters)
    except _PlannedError as planned:
        return planned.plan
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{file}: {name} does not come to its cluster: {problem}") from error
    raise UsageError(f"{file}: {name} starts no cluster")


def _require_known(plan: Plan, stored: Plan) -> None:
    groups = [group.group for group in stored.groups]
    named: Iterable[tuple[str, str, Sequence[str]]] = [
        *(("check", check, list(Check)) for check in plan.must_judge),
        *(("check", expected.check, list(Check)) for expected in plan.expects),
        *(("group", group, groups) for expected in plan.expects for group in expected.groups),
    ]
    for what, name, known in named:
        if name not in known:
            raise UsageError(lacking(what, name, known))
