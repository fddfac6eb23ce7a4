"""What new coordinators return: `python -m studies.handover FOLDER...`.

Reads the runs of coordinator_handover and returned_reader below some folders, and adds their
stories to the figures of docs/handover.md. A story is one change of the coordinator of one group. A
run that ended with an error counts as far as it came.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench import figures
from bench.figures import grouped, rendered, replaced
from bench.traces import opened
from contract.builds import version_numbers
from contract.commit_rules import FIRST_WITH_NEW_COORDINATOR
from contract.errors import FencepostError, UsageError
from contract.run_folder import RunFolder, find_runs
from studies import handover_readers
from studies.handover_readers import Reader

SCENARIO = "coordinator_handover"
_NAME = "handover"
_TEMPLATE = Path(__file__).with_name("handover.md.j2")
_STATEMENT = Path(__file__).with_name("handover.sql")
_SETTINGS = {
    "min_insync": "min.insync.replicas",
    "lag_ms": "replica.lag.time.max.ms",
    "session_ms": "broker.session.timeout.ms",
    "wait_ms": "replica.fetch.wait.max.ms",
}
_ITSELF = "itself"
"""Cut or pause were not healed before the window's end."""
_IS_NEW = "group.coordinator.new.enable"


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a coordinator.

    seed: of the run.
    followers: `cut` from the successor, or one of them `paused`.
    until: what ended that.
    is_control: nothing was cut or paused.
    is_reached: the successor led with a high watermark below its log end.
    plain_responses: that had no error, without require_stable; of them `older` had the older commit
        of the first partition, `none` no commit of the second.
    stable_stale: responses with require_stable that had one of both.
    refused: NOT_COORDINATOR, or REQUEST_TIMED_OUT, with require_stable after the first response
        without an error.
    waited_ms: the longest wait with require_stable.
    window_ms: from the first response with an older commit, or none, to the first right one.
    watermark_ms, healed_ms, alone_ms: from the same on: when the high watermark was known, the cut
        or pause was healed, and the successor was alone in the ISR; None: it was not.
    """

    kafka: str
    seed: int
    how: str
    followers: str
    is_new: bool
    min_insync: int
    lag_ms: int
    session_ms: int
    wait_ms: int
    until: str
    is_control: bool
    is_reached: bool
    plain_responses: int
    older: int
    none: int
    stable_stale: int
    refused: int
    window_ms: int | None
    waited_ms: int | None
    watermark_ms: int | None
    healed_ms: int | None
    alone_ms: int | None

    @property
    def is_stale(self) -> bool:
        """Whether a response without require_stable had an older commit, or none."""
        return self.older + self.none > 0

    @property
    def hindrance(self) -> str:
        """What was done to the followers, in words."""
        return "control" if self.is_control else f"followers {self.followers}"


def stories_of(run: RunFolder) -> Iterator[Story]:
    """Yield the stories of a run."""
    described = run.run()
    settings = described.config["settings"]
    given = {
        "kafka": described.kafka,
        "seed": described.seed,
        "how": run.plan().parameters["how"],
        "followers": run.plan().parameters.get("followers", "cut"),
        "is_new": _IS_NEW in settings
        or version_numbers(described.kafka) >= FIRST_WITH_NEW_COORDINATOR,
        **{name: int(settings[setting]) for name, setting in _SETTINGS.items()},
    }
    with opened(run) as trace:
        rows = trace.ask(_STATEMENT.read_text(encoding="utf-8"))
    for row in rows:
        yield msgspec.convert(given | row, Story)


def together(before: Iterable[Story], stories: Sequence[Story]) -> list[Story]:
    """Return all stories; those of a run that is read again take the place of its former ones."""
    return sorted(replaced(before, stories, _run_of), key=_run_of)


def _run_of(story: Story) -> tuple[Any, ...]:
    return (*_who(story), story.followers, *_setting(story), story.seed)


def _who(story: Story) -> tuple[str, str, bool]:
    return story.how, story.kafka, story.is_new


def _setting(story: Story) -> tuple[int, int, int, int]:
    return -story.min_insync, story.lag_ms, story.session_ms, story.wait_ms


def answers(stories: Iterable[Story]) -> list[dict[str, str]]:
    """A row for each mechanism, hindrance, version and coordinator: how many stories had what."""
    rows = []
    for (how, kafka, is_new, followers), of in grouped(
        stories, lambda one: (*_who(one), one.followers)
    ):
        cut = [one for one in of if one.is_reached and not one.is_control]
        rows.append(
            {
                "how": how,
                "followers": followers,
                "kafka": kafka,
                "coordinator": "new" if is_new else "old",
                "reached": _of(cut, [one for one in of if not one.is_control]),
                "stale": _of([one for one in cut if one.is_stale], cut),
                "window": _span(one.window_ms for one in cut),
                "stable": _of([one for one in cut if one.stable_stale], cut),
                "refused": _of([one for one in cut if one.refused], cut),
                "waited": _span(one.waited_ms for one in cut),
                "seeds": ", ".join(map(str, sorted({one.seed for one in of}))),
            }
        )
    return rows


def controls(stories: Iterable[Story]) -> list[dict[str, str]]:
    """A row for each mechanism, version, coordinator and wait: how many stories had what."""
    uncut = [one for one in stories if one.is_control]
    return [
        {
            "how": how,
            "kafka": kafka,
            "coordinator": "new" if is_new else "old",
            "wait": _seconds(wait_ms),
            "stale": _of([one for one in of if one.is_stale], of),
            "window": _span(one.window_ms for one in of),
            "stable": _of([one for one in of if one.stable_stale], of),
        }
        for (how, kafka, is_new, wait_ms), of in grouped(
            uncut, lambda one: (*_who(one), one.wait_ms)
        )
    ]


def ends(stories: Iterable[Story]) -> list[dict[str, str]]:
    """A row for each hindrance, setting and its end: how long the windows were."""
    cut = [one for one in stories if one.window_ms is not None and not one.is_control]
    return [
        {
            "followers": followers,
            "min_insync": str(-min_insync),
            "lag": _seconds(lag_ms),
            "session": _seconds(session_ms),
            "until": until,
            "stories": str(len(of)),
            "window": _span(one.window_ms for one in of),
            "alone": f"{_span(one.alone_ms for one in of)}{_alone(of)}",
            "healed": _span(one.healed_ms for one in of),
            "after": _span(
                one.window_ms - one.healed_ms
                for one in of
                if one.window_ms is not None and one.healed_ms is not None and until != _ITSELF
            ),
        }
        for (followers, min_insync, lag_ms, session_ms, until), of in grouped(
            cut, lambda one: (one.followers, *_setting(one)[:3], one.until)
        )
    ]


def _alone(of: Sequence[Story]) -> str:
    alone = [one for one in of if one.alone_ms is not None]
    return f", {len(alone)} of {len(of)}" if alone else ""


def _of(some: Sequence[Story], every: Sequence[Story]) -> str:
    return f"{len(some)} of {len(every)}" if every else ""


def _span(found: Iterable[int | None]) -> str:
    """The median with the least and the largest, in seconds."""
    known = sorted(one for one in found if one is not None)
    if not known:
        return ""
    middle, least, most = _seconds(median(known)), _seconds(known[0]), _seconds(known[-1])
    return middle if len(known) == 1 else f"{middle} ({least} to {most})"


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.2g}" if ms < 100 else f"{ms / 1000:.1f}"  # noqa: PLR2004 - 0.1 s


def part(stories: Sequence[Story] | None = None) -> str:
    """The part of docs/handover.md that is made, by default of the stories that are kept."""
    every = figures.kept(_NAME, list[Story]) if stories is None else stories
    return rendered(
        _TEMPLATE,
        stories=every,
        answers=answers(every),
        controls=controls(every),
        ends=ends(every),
        readers=handover_readers.counted(figures.kept(handover_readers.NAME, list[Reader])),
    )


def main() -> None:
    """Add the stories of runs to the figures."""
    try:
        runs = [run for folder in sys.argv[1:] for run in find_runs(Path(folder))]
        mine = [run for run in runs if run.plan().scenario == SCENARIO]
        others = [run for run in runs if run.plan().scenario == handover_readers.SCENARIO]
        if not mine and not others:
            raise UsageError(f"no run of {SCENARIO} is there: make handover")
        found = [story for run in mine for story in stories_of(run)]
        stories = together(figures.kept(_NAME, list[Story]), found)
        print(f"wrote {figures.keep(_NAME, stories)}")
        readers = [one for run in others for one in handover_readers.readers_of(run)]
        before = figures.kept(handover_readers.NAME, list[Reader])
        every = handover_readers.together(before, readers)
        print(f"wrote {figures.keep(handover_readers.NAME, every)}")
    except FencepostError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
