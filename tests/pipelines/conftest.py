"""Tables of every format, for the tests of pipelines."""

from pathlib import Path

import pytest

from tests.pipelines.planted import Place


@pytest.fixture(params=["parquet", "delta", "iceberg"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path / "lake")
