"""Places by their paths and URIs."""

from pathlib import Path

import pytest

from contract.errors import UsageError
from contract.uris import local_folder, place


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("results/latest", Path("results/latest")),
        ("/data/a:/b", Path("/data/a:/b")),
        ("./odd:/b", Path("./odd:/b")),
        ("-", Path("-")),
        ("a:/b", Path("a:/b")),
        ("file:///data/a%20run", Path("/data/a run")),
        ("file:/data/run", Path("/data/run")),
        ("FILE://localhost/data/run", Path("/data/run")),
        ("s3a://bucket/run/", "s3a://bucket/run/"),
        ("hdfs:///runs/a run", "hdfs:///runs/a run"),
        ("viewfs:/runs", "viewfs:/runs"),
    ],
)
def test_a_place_is_a_local_path_or_a_uri(name: str, expected: Path | str) -> None:
    assert place(name) == expected


def test_a_file_of_another_machine_is_refused() -> None:
    with pytest.raises(UsageError, match="names the machine other"):
        place("file://other/data")


def test_a_local_folder_is_no_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert local_folder(tmp_path.as_uri()) == tmp_path
    with pytest.raises(UsageError, match="s3a://bucket/run is not on this machine"):
        local_folder("s3a://bucket/run")
