"""Folders of sessions: two that begin at once, a copied results folder, damaged state."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ducktape.tests.session import generate_session_id

from harness.session.names import reserve_session
from harness.session.node_root import node_root

DAY = time.strftime("%Y-%m-%d")


def test_ducktape_chooses_the_reserved_folder(tmp_path: Path) -> None:
    (tmp_path / f"{DAY}--007").mkdir()
    (tmp_path / f"{DAY}--x").mkdir()
    with node_root(tmp_path) as root:
        folder, notes = reserve_session(tmp_path, root)
        assert folder == tmp_path / f"{DAY}--008"
        chosen = generate_session_id(str(notes / "session_id"))
    assert chosen == folder.name


def test_sessions_that_begin_at_once_have_folders_of_their_own(tmp_path: Path) -> None:
    roots = [node_root(tmp_path) for _ in range(5)]
    places = [root.__enter__() for root in roots]
    with ThreadPoolExecutor() as pool:
        chosen = list(pool.map(lambda place: reserve_session(tmp_path, place)[0], places))
    assert len(set(chosen)) == len(roots)
    for root in roots:
        root.__exit__(None, None, None)
    with node_root(tmp_path) as root:
        assert reserve_session(tmp_path, root)[0].name == f"{DAY}--001"
