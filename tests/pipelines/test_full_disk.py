"""A table on a disk that takes no more: the command says which, and ends."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.waiting import HANGS_AFTER_S

SHOP: Final = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
TRIES: Final = 3  # a thread that outlived its interpreter ended one process in seven


@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_a_file_that_must_not_grow_is_an_error_that_names_the_table(
    tmp_path: Path, table_format: str
) -> None:
    for number in range(TRIES):
        table = tmp_path / f"lake-{number}"
        command = [
            sys.executable, "-m", "workbench.cli.main", "to-table", str(SHOP), "-t", "clicks",
            "--to", str(table), "--table-format", table_format,
        ]  # fmt: skip
        done = subprocess.run(
            ["/bin/sh", "-c", 'ulimit -f 16 && exec "$@"', "sh", *command],
            capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        (only,) = done.stderr.splitlines()  # and no panic of a library of Rust
        assert only.startswith(f"kafka-workbench: {table}")
        assert only.endswith(f": cannot be written: {os.strerror(errno.EFBIG)}")
        assert not [each for each in table.rglob("*") if each.is_file()]
