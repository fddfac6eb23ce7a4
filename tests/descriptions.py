"""Plans and descriptions of runs in which only what a test is about differs."""

from typing import Any

from contract.run_folder import Plan, RunDescription


def plan_of(**fields: Any) -> Plan:
    """A plan of no topics and groups, which must judge and expects nothing."""
    usual: dict[str, Any] = {
        "scenario": "s",
        "question": "?",
        "parameters": {},
        "topics": [],
        "groups": [],
        "must_judge": [],
        "expects": [],
    }
    return Plan(**(usual | fields))


def description_of(**fields: Any) -> RunDescription:
    """A run of Kafka 4.4.0 on the embedded pool."""
    usual: dict[str, Any] = {
        "run_id": "r",
        "scenario": "s",
        "seed": 1,
        "kafka": "4.4.0",
        "cluster": "embedded",
        "clients": {},
        "git_head": "",
        "versions": {},
        "config": {},
        "command": "",
        "rerun": "",
        "started_micros": 1,
    }
    return RunDescription(**(usual | fields))
