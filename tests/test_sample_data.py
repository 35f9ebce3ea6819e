"""The sample data: unchanged, small, and what its README promises."""

import hashlib
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "sample_data"
CHECKSUMS = SAMPLES / "SHA256SUMS"


def sample_files() -> list[Path]:
    """Return every file of the samples, without the scripts and texts about them."""
    return sorted(
        path
        for folder in SAMPLES.iterdir()
        if folder.is_dir() and folder.name != "make"
        for path in folder.rglob("*")
        if path.is_file()
    )


def test_every_file_has_its_checksum() -> None:
    found = {
        path.relative_to(SAMPLES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sample_files()
    }
    lines = [line.split("  ", 1) for line in CHECKSUMS.read_text().splitlines()]
    assert found == {name: checksum for checksum, name in lines}


def test_the_samples_stay_small() -> None:
    sizes = [path.stat().st_size for path in sample_files()]
    assert max(sizes) <= 2_000_000
    assert sum(sizes) <= 8_000_000


def test_every_directory_is_in_the_readme() -> None:
    readme = (SAMPLES / "README.md").read_text()
    folders = [path.name for path in SAMPLES.iterdir() if path.is_dir() and path.name != "make"]
    assert [name for name in folders if f"`{name}`" not in readme] == []


def test_no_lock_of_a_running_broker_is_left() -> None:
    assert [path for path in sample_files() if path.name == ".lock"] == []
