"""Every patch applies to the locked sources; a built one commits what its option says."""

from pathlib import Path

import pytest
from command import facts_of

from extras.compare import patched

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

OF_METADATA = 7
EXPECTED = {
    "option-1": {"leader above": 5, "leader below": 2},
    "option-2": {"leader above": OF_METADATA, "leader below": OF_METADATA},
    "option-3": {"leader above": 5, "leader below": 3},
    "options-1-and-3": {"leader above": 5, "leader below": 3},
}
"""By option: of a position whose record has epoch 3 and whose leader has 5, or 2."""
BUILT = [*patched.patches("4.3.1"), patched.find_patch("option-2", "3.9.2")]


def name_of(patch: patched.Patch) -> str:
    return f"{patch.name} {patch.version}"


@pytest.mark.parametrize("patch", patched.patches(), ids=name_of)
def test_a_patch_applies_to_the_locked_sources(patch: patched.Patch, tmp_path: Path) -> None:
    sources = patched.fetch_sources(patch.version)
    patched.apply(patch, sources, tmp_path)
    assert all((tmp_path / path).exists() for path in patch.sources)


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(
            patch, marks=[] if patch.name == "option-2" else pytest.mark.long, id=name_of(patch)
        )
        for patch in BUILT
    ],
)
def test_a_built_patch_commits_what_its_option_says(patch: patched.Patch, tmp_path: Path) -> None:
    built = patched.build(patch)
    facts = facts_of("compare/patched_facts.py", patch.version, built.jar, tmp_path)
    assert facts == EXPECTED[patch.name]
    assert patched.build(patch) == built
