"""What tasks hand on, without Spark: sums of keys in buckets, and files of attempts that die."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.spark.tasks import Load
from workbench.pipelines.compaction_savings import newest_entries
from workbench.pipelines.key_buckets import bucket_slices, distinct
from workbench.pipelines.rescue_to_parquet import Rescuing, folder_of

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
LONGS = st.integers(-(2**63), 2**63 - 1)


@given(sums=arrays(np.int64, st.integers(0, 50), elements=LONGS), bits=st.integers(0, 12))
def test_every_sum_is_in_one_bucket_that_its_first_bits_choose(sums: Any, bits: int) -> None:
    ordered = distinct(sums)
    assert ordered.tolist() == sorted(set(sums.tolist()))
    found = list(bucket_slices(ordered, bits))
    assert [each for _, part in found for each in ordered[part].tolist()] == ordered.tolist()
    assert all(one < other for (one, _), (other, _) in pairwise(found))
    for bucket, part in found:
        assert {each >> 64 - bits if bits else 0 for each in ordered[part].tolist()} == {bucket}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 9)), max_size=30))
def test_the_newest_entry_of_a_key_stays_even_where_half_a_sum_is_that_of_another(
    keys: list[tuple[int, int, int]],
) -> None:
    count = len(keys)
    offsets = np.random.default_rng(count).permutation(count)
    rows = [(*key[:2], int(at), 0, key[2]) for key, at in zip(keys, offsets, strict=True)]
    entries = np.array(rows, np.int64).reshape(-1, 5)
    newest: dict[tuple[int, int], tuple[int, ...]] = {}
    for row in sorted(rows, key=lambda one: one[2]):
        newest[row[:2]] = row
    kept, others = newest_entries(entries)
    assert sorted(map(tuple, kept.tolist())) == sorted(newest.values())
    assert len(kept) + len(others) == count
    assert int(kept[:, 4].sum() + others.sum()) == int(entries[:, 4].sum())


@pytest.mark.parametrize("dies_after", [0, 1, 3])
def test_an_attempt_that_dies_leaves_nothing_that_the_next_does_not_replace(
    tmp_path: Path, dies_after: int
) -> None:
    load = Load(
        SHOP, subscribe="orders", onCorrupt="rows", includeHeaders="true", includeMetadata="true"
    )
    for number in range(3):
        (tmp_path / folder_of(("orders", number))).mkdir(parents=True)

    def dying(batches: Any) -> Any:
        for number, batch in enumerate(batches):
            if number == dies_after:
                raise OSError("the executor is gone")
            yield batch

    (task,) = load.tasks
    source = load._reader.read  # noqa: SLF001 - what a task reads
    with pytest.raises(OSError, match="gone"):
        list(Rescuing(str(tmp_path))(dying(source(task))))
    rows = pa.Table.from_batches(Rescuing(str(tmp_path))(source(task))).to_pylist()
    named = {os.path.join(folder_of(("orders", row["partition"])), row["file"]) for row in rows}
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")} == named
    stored = sum(pq.ParquetFile(tmp_path / name).metadata.num_rows for name in named)
    counted = sum(
        int(np.frombuffer(row["counts"], np.int64).reshape(2, -1)[1].sum()) for row in rows
    )
    assert stored == counted == load.table().num_rows
