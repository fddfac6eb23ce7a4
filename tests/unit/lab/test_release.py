"""The changelog of a release, from a file for each change."""

from pathlib import Path

import pytest

from contract.errors import UsageError
from lab.release import main


def with_changes(root: Path, changelog: str) -> Path:
    (root / "changes").mkdir()
    (root / "changes" / "b.md").write_text("- One.\n- Two.\n")
    (root / "changes" / "a.md").write_text("A command\nis gone.\n\nAnother one.\n")
    (root / "CHANGELOG.md").write_text(changelog)
    return root / "CHANGELOG.md"


CHANGES = "- A command\n  is gone.\n\n  Another one.\n- One.\n- Two.\n"


def test_a_release_has_the_texts_by_name_of_file(tmp_path: Path) -> None:
    log = with_changes(tmp_path, "# Changelog\n\n## 0.1.0\n\n- First.\n")
    main("0.2.0", tmp_path)
    assert log.read_text() == f"# Changelog\n\n## 0.2.0\n\n{CHANGES}\n## 0.1.0\n\n- First.\n"
    assert list((tmp_path / "changes").iterdir()) == []
    with pytest.raises(UsageError):
        main("0.3.0", tmp_path)


def test_lines_that_were_not_released_are_of_the_release(tmp_path: Path) -> None:
    log = with_changes(tmp_path, "# Changelog\n\n## Unreleased\n\n- First.\n")
    main("0.1.0", tmp_path)
    assert log.read_text() == f"# Changelog\n\n## 0.1.0\n\n{CHANGES}- First.\n"
