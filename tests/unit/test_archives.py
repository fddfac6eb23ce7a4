"""Files that come from a node stay in the folder that they are for."""

import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from cluster.nodes.archives import unpack
from cluster.nodes.loopback import LoopbackPool
from contract.errors import NodeError

CONTENT = b"content"


def archive(
    *names: str, links: dict[str, str] | None = None, kind: bytes = tarfile.SYMTYPE
) -> BytesIO:
    """One with a file of each name, after the links."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, leads_to in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, leads_to
            tar.addfile(link)
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(CONTENT)
            tar.addfile(member, BytesIO(CONTENT))
    packed.seek(0)
    return packed


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_folder_is_unpacked_under_another_name(tmp_path: Path) -> None:
    unpack(archive("data/orders-0/0.log"), tmp_path / "target")
    assert files(tmp_path) == ["target/orders-0/0.log"]


def test_a_single_file_becomes_the_target(tmp_path: Path) -> None:
    unpack(archive("server.log"), tmp_path / "target.log")
    assert files(tmp_path) == ["target.log"]


@pytest.mark.parametrize(
    "name", ["data/../../escaped", "data/a/../../../escaped", "data//{root}/escaped"]
)
def test_a_name_that_leads_out_is_refused_and_the_others_are_written(
    tmp_path: Path, name: str
) -> None:
    target = tmp_path / "deep" / "target"
    target.mkdir(parents=True)
    named = name.format(root=tmp_path)
    with pytest.raises(NodeError, match="escaped"):
        unpack(archive("data/first", named, "data/last"), target)
    assert files(tmp_path) == ["deep/target/first", "deep/target/last"]


@pytest.mark.parametrize("name", ["{root}/escaped", "../escaped"])
def test_a_name_from_above_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    """Its first folder is left out, whatever it is called."""
    unpack(archive(name.format(root=tmp_path)), tmp_path / "target")
    assert files(tmp_path)
    assert all(found.startswith("target/") for found in files(tmp_path))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_left_out_and_lead_nowhere(tmp_path: Path, kind: bytes) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    outside.mkdir()
    unpack(archive("data/link/file", links={"data/link": str(outside)}, kind=kind), target)
    assert files(tmp_path) == ["target/link/file"]


def test_a_link_that_lies_in_the_target_is_not_followed_out_of_it(tmp_path: Path) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "link").symlink_to(outside)
    with pytest.raises(NodeError, match="data/link/file"):
        unpack(archive("data/link/file"), target)
    assert files(tmp_path) == []


def test_a_damaged_archive_is_an_error_of_the_node(tmp_path: Path) -> None:
    whole = archive(*(f"data/{number}" for number in range(99))).getvalue()
    with pytest.raises(NodeError, match="damaged"):
        unpack(BytesIO(whole[:20_100]), tmp_path / "target")
    with pytest.raises(NodeError, match="damaged"):
        unpack(BytesIO(b"x" * 1024), tmp_path / "target")


def test_a_local_node_copies_no_link_and_no_pipe(tmp_path: Path) -> None:
    """A pipe would be read forever, a link leads to what is not the node's."""
    node = LoopbackPool(size=1, root=tmp_path / "nodes").nodes[0]
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    data = node.folder / "data"
    node.write(data / "file", CONTENT)
    (data / "link").symlink_to(secret)
    (data / "loop").symlink_to(data)
    (data / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(data / "pipe")
    node.copy_from(data, tmp_path / "copy")
    assert files(tmp_path / "copy") == ["file"]
