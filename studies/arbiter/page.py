"""The made parts of docs/arbiter.md and arbiter-runs.md, from figures that are kept."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from analysis.report.words import with_noun
from bench import figures
from bench.figures import rendered
from contract.clients import Client
from contract.errors import UsageError
from contract.outcomes import ResetPolicy
from contract.verdicts import Engine
from studies.arbiter import tables
from studies.arbiter.cells import BUILDS, ON_EACH_BUILD, table
from studies.arbiter.figures import Figures, figures_of, ran
from studies.arbiter.followers import Followers, followed
from studies.arbiter.predictions import differences
from studies.arbiter.race import race_rows
from studies.arbiter.rows import HAZARDS, LANGUAGES, RACE, RELEASED, Row, stories_of
from studies.hunt import page as hunt

_NAME, _FOLLOWERS = "arbiter", "arbiter_followers"
_TEMPLATES = Path(__file__).parent
_OPTIONS = {
    "option-1": "Option 1 (the position takes the leader of the metadata)",
    "option-2": "Option 2 (the metadata's epoch at the commit)",
    "option-3": "Option 3 (the larger epoch)",
    "options-1-and-3": "Options 1 and 3 together (pull request #22558)",
}
_PROTOCOLS = {Client.JAVA: "classic", Client.JAVA_CONSUMER: "KIP-848"}


def keep(folders: Sequence[Path]) -> list[Path]:
    """Keep the figures of the runs below some folders; returns their files.

    Those of mixed_languages have a file of their own.

    Raises:
        UsageError: there is none.
    """
    hazards, races = list(stories_of(HAZARDS, folders)), list(stories_of(RACE, folders))
    languages = list(stories_of(LANGUAGES, folders))
    files = []
    if hazards:
        found = figures_of(hazards, races, [race_rows(one) for one in races])
        files.append(figures.keep(_NAME, found))
    if languages:
        rows = [row for story in languages for row in followed(story)]
        after = Followers(runs=[ran(one) for one in languages], rows=rows)
        files.append(figures.keep(_FOLLOWERS, after))
    if not files:
        raise UsageError("no judged run of commit_hazards there: python -m studies.arbiter run")
    return files


def kept() -> Figures:
    """Return the figures that are kept."""
    return figures.kept(_NAME, Figures)


def kept_followers() -> Followers:
    """Return the figures of mixed_languages that are kept."""
    return figures.kept(_FOLLOWERS, Followers)


def part(of: Figures | None = None, after: Followers | None = None) -> str:
    """The part of docs/arbiter.md that is made, by default of the figures that are kept."""
    shown, followers = of or kept(), after or kept_followers()
    rows = shown.rows
    of_table = {(row.kafka, row.build, row.topic, row.group) for row in table()}
    judged = {
        (row.kafka, row.build, row.hazard, row.group) for row in rows if "-pairs-" in row.story
    }
    return rendered(
        _TEMPLATES / "arbiter.md.j2",
        tables=tables,
        with_noun=with_noun,
        skipping=_skipping,
        figures=shown,
        rows=rows,
        released=[row for row in tables.plain(rows) if row.build == RELEASED],
        bare=[row for row in tables.bare(rows) if row.hazard == "truncated/above"],
        options=_OPTIONS,
        protocols=_PROTOCOLS,
        builds=BUILDS,
        on_each_build=ON_EACH_BUILD,
        hunted=hunt.counted(hunt.kept()),
        differences=differences(rows),
        races=[run for run in shown.runs if not run.hazard],
        followers=followers,
        engines=Counter(Engine(run.judged_by) for run in shown.runs),
        of_table=of_table,
        ran=of_table & judged,
    )


def part_of_runs(of: Figures | None = None) -> str:
    """The part of docs/arbiter-runs.md that is made."""
    shown = of or kept()
    return rendered(
        _TEMPLATES / "runs.md.j2",
        tables=tables,
        figures=shown,
        runs=[*shown.runs, *kept_followers().runs],
        rows=shown.rows,
        resets=list(ResetPolicy),
        released=RELEASED,
    )


def _skipping(rows: Sequence[Row]) -> str:
    return f"{sum(bool(row.never_delivered) for row in rows)} of {with_noun(len(rows), 'group')}"
