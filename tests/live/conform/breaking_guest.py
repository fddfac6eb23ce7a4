"""A guest of confluent-kafka that breaks one rule: `python breaking_guest.py RULE`.

It is the example of guests/python/confluent-kafka in extras/conform/released, with a change for
each rule.
"""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

_EXAMPLE = (
    Path(__file__).parents[3] / "extras/conform/released/guests/python/confluent-kafka/guest.py"
)
Response = dict[str, Any]


def example() -> Any:
    """The example's module; its loop reads an input that is at its end."""
    spec = spec_from_file_location("example", _EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module, own = module_from_spec(spec), sys.stdin
    sys.stdin = io.StringIO()
    spec.loader.exec_module(module)
    sys.stdin = own
    return module


class Breaking:
    """Changes requests and responses of a guest."""

    def __init__(self, rule: str) -> None:
        self.module = example()
        self.guest = self.module.Guest()
        self.rule = rule.replace(" ", "_")
        self.polls = 0
        self.commits = 0
        self.read: set[int] = set()

    def respond(self, request: dict[str, Any]) -> Response | None:
        """The response to a request; None for none."""
        do = request["do"]
        change: Callable[..., Any] = getattr(self, f"{self.rule}_{do}", self._as_it_is)
        response: Response | None = change(request)
        return None if response is None else {"id": request["id"], **response}

    def _as_it_is(self, request: dict[str, Any]) -> Response:
        found: Response = getattr(self.guest, request["do"])(request)
        return found

    def _alter(self, request: dict[str, Any], **changes: Any) -> Response:
        return {**self._as_it_is(request), **changes}

    def line_poll(self, request: dict[str, Any]) -> Response:
        print("polling ...")
        return self._as_it_is(request)

    def id_poll(self, request: dict[str, Any]) -> Response:
        return self._alter(request, id=0)

    def fields_poll(self, request: dict[str, Any]) -> Response:
        return self._alter(request, position=[])

    def stays_poll(self, request: dict[str, Any]) -> Response:
        sys.exit(0 if request else 1)

    def named_open(self, request: dict[str, Any]) -> Response:
        return self._alter(request, version="")

    def unknown_fields_poll(self, request: dict[str, Any]) -> Response:
        if "hint" in request:
            raise KeyError("hint")
        return self._as_it_is(request)

    def settings_open(self, request: dict[str, Any]) -> Response:
        return self._as_it_is({**request, "settings": {}})

    def records_poll(self, request: dict[str, Any]) -> Response:
        response = self._as_it_is(request)
        records = response["records"]
        return {**response, "records": [*records, *records[-1:]]}

    def epoch_poll(self, request: dict[str, Any]) -> Response:
        response = self._as_it_is(request)
        return {**response, "records": [{**record, "epoch": 7} for record in response["records"]]}

    def size_poll(self, request: dict[str, Any]) -> Response:
        response = self._as_it_is(request)
        for _ in range(20):
            more = self._as_it_is({**request, "timeout_ms": 200})
            response = {**more, "records": response["records"] + more["records"]}
        return response

    def wait_poll(self, request: dict[str, Any]) -> Response:
        response = self._as_it_is(request)
        if not response["records"]:
            time.sleep(5)
        return response

    def assigned_poll(self, request: dict[str, Any]) -> Response:
        return self._alter(request, assigned=[0])

    def positions_poll(self, request: dict[str, Any]) -> Response:
        response = self._as_it_is(request)
        moved = [
            {**position, "offset": position["offset"] + 1} for position in response["positions"]
        ]
        return {**response, "positions": moved}

    def commit_commit(self, _request: dict[str, Any]) -> Response:
        return {}

    def committed_commit(self, request: dict[str, Any]) -> Response:
        return self._alter(request, committed=[])

    def nothing_commit(self, request: dict[str, Any]) -> Response:
        self.commits += 1
        return self._as_it_is(request) if self.commits == 1 else {"error": {"name": "_NO_OFFSET"}}

    def automatic_open(self, request: dict[str, Any]) -> Response:
        return self._as_it_is({**request, "commit": "explicit"})

    def bare_end_poll(self, request: dict[str, Any]) -> Response:
        """Show what librdkafka does by itself: no position before a record."""
        response = self._as_it_is(request)
        if "error" in response:
            return response
        self.read |= {record["partition"] for record in response["records"]}
        shown = [
            position for position in response["positions"] if position["partition"] in self.read
        ]
        return {**response, "positions": shown}

    def explicit_close(self, request: dict[str, Any]) -> Response:
        self.guest.commit(request)
        return self._as_it_is(request)

    def resumes_open(self, request: dict[str, Any]) -> Response:
        self.guest.on_assign = self._from_the_beginning
        return self._as_it_is(request)

    def _from_the_beginning(self, consumer: Any, partitions: list[Any]) -> None:
        self.guest.assigned += [partition.partition for partition in partitions]
        for partition in partitions:
            partition.offset = 0
        consumer.assign(partitions)

    def rebalance_poll(self, request: dict[str, Any]) -> Response:
        return self._alter(request, rebalanced=[])

    def latest_open(self, request: dict[str, Any]) -> Response:
        return self._as_it_is({**request, "reset": "earliest"})

    none_open = latest_open

    def goes_on_poll(self, request: dict[str, Any]) -> Response:
        response = self._as_it_is(request)
        self.polls += "error" in response or bool(self.polls)
        if self.polls > 1:
            sys.exit("can't go on")
        return response

    def leaves_close(self, _request: dict[str, Any]) -> Response:
        return {}

    def exit_close(self, request: dict[str, Any]) -> Response:
        print(json.dumps({"id": request["id"]}), flush=True)
        os._exit(3)

    def killed_open(self, request: dict[str, Any]) -> Response:
        """Let a process go on in the group that ends with none of this one."""
        if request["member"] == "killed#1":
            going_on = f"import breaking_guest as b; b.go_on({json.dumps(request)!r})"
            folder = Path(__file__).parent
            subprocess.Popen(
                [sys.executable, "-c", going_on],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._as_it_is(request)


def go_on(request: str) -> None:
    """Poll until the machine of the test ends."""
    guest = example().Guest()
    guest.open(json.loads(request))
    while True:
        guest.poll({"timeout_ms": 500})


def main() -> None:
    """Respond as the example does, but for one rule."""
    breaking = Breaking(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        response = breaking.respond(request)
        if response is not None:
            print(json.dumps(response), flush=True)
        if request["do"] == "close":
            # Without the destructor of the consumer, which would leave the group.
            os._exit(0)
    if breaking.rule == "end":
        os._exit(4)


if __name__ == "__main__":
    main()
