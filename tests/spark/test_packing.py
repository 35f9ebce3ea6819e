"""What cannot be packed is said; what is packed, tests/spark/test_cluster.py unpacks on workers."""

from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.errors import MissingDependencyError


def test_a_name_that_spark_does_not_unpack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"does not end with \.tar\.gz or \.tgz"):
        wb.spark.pack_executors(tmp_path / "executors.rar")
    outcome = run("spark", "pack", tmp_path / "executors.rar")
    assert outcome.code == 3
    assert ".tar.gz or .tgz" in outcome.err
    assert not list(tmp_path.iterdir())


def test_a_package_that_is_not_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError, match="pip install no-such-package"):
        wb.spark.pack_executors(tmp_path / "executors.tgz", ["no-such-package"])
    assert not list(tmp_path.iterdir())
