"""What a run does in tasks of Spark: each item is pickled, and so is what is made of it."""

import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from workbench.errors import CorruptDataWarning, WorkbenchError
from workbench.inspection.transactions import IsolationLevel
from workbench.pipelines.lake.data_files import DataFile, Staging
from workbench.pipelines.lake.row_reader import Counts, RowReader, values_of
from workbench.pipelines.lake.source import NewOffsets, new_offsets
from workbench.pipelines.sizes import MOST_TASKS
from workbench.values.formats.json import json_shape
from workbench.values.inference import Shape


class LoadedPart(NamedTuple):
    """What a task has written.

    Attributes:
        counts: of what it read.
        files: the files.
        warned: of damage.
    """

    counts: Counts
    files: list[DataFile]
    warned: list[str]


def in_tasks(spark: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return what a function makes of each item.

    Spark may call it for an item again, or twice at a time; one result counts.

    Args:
        spark: a `pyspark.sql.SparkSession`, classic or Connect.
        function: of a module that is installed where tasks run.
        items: can be pickled.

    Raises:
        WorkbenchError: the function raised it.
    """
    if not items:
        return []
    pickled = [pickle.dumps(each) for each in items]
    table = pa.table({"number": range(len(items)), "item": pa.array(pickled, pa.binary())})
    frame = spark.createDataFrame(table)
    frame = frame.repartitionByRange(min(len(items), MOST_TASKS), "number")
    call = partial(_called, pickle.dumps(function))
    made = frame.mapInArrow(call, "number bigint, result binary").toArrow().sort_by("number")
    found = []
    for data in made["result"].to_pylist():
        result, error = pickle.loads(data)  # noqa: S301 - our own
        if error is not None:
            raise error
        found.append(result)
    return found


def _called(function: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    call = pickle.loads(function)  # noqa: S301 - our own
    for batch in batches:
        for number, item in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            made: tuple[Any, WorkbenchError | None]
            try:
                made = call(pickle.loads(item)), None  # noqa: S301 - our own
            except WorkbenchError as error:
                made = None, error
            yield pa.RecordBatch.from_pydict({"number": [number], "result": [pickle.dumps(made)]})


def find_new(isolation_level: IsolationLevel, item: tuple[Any, Any]) -> NewOffsets | Exception:
    """Return `new_offsets` of a partition and its position, or why there are none."""
    try:
        return new_offsets(*item, isolation_level)
    except (WorkbenchError, OSError) as error:
        return error


def shape_of_part(options: Mapping[str, Any], name: str, part: Sequence[NewOffsets]) -> Shape:
    """Return `json_shape` of a column of ranges of offsets."""
    return json_shape(values_of(part, options, name))


def load_part(reader: RowReader, staging: Staging, part: Sequence[NewOffsets]) -> LoadedPart:
    """Write the rows of ranges of offsets to files that are not in the table yet."""
    counts = Counts.of(part)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        files = staging.write(reader.batches(part, counts))
    warned = [str(each.message) for each in told if issubclass(each.category, CorruptDataWarning)]
    return LoadedPart(counts, files, warned)
