"""Compile every kernel now, so that the first use in a new process need not: `make env` runs this.

The machine code is kept in `cache_folder.kernel_folder` for this CPU.
"""

import os
import sys
import tempfile
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels import background, dispatch
from workbench.kernels.cache_folder import kernel_folder, ready_mark
from workbench.kernels.codecs.inputs import DecodeTask, DecompressionBounds, Library
from workbench.kernels.reading.outputs import SEARCHED_FIELDS, no_outputs
from workbench.kernels.writing.checks import COLUMNS
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.compaction import BATCH_OUTCOME, FACTS, RECORD_PLACE


def compile_kernels() -> None:
    """Call each kernel once with empty arrays of its usual types."""
    background.do_not_wait()
    data = np.zeros(64, np.uint8)
    rows = np.zeros(1, BATCH_ROW)
    spans = np.zeros((1, 2), np.int64)
    matches = np.zeros(1, np.bool_)
    out = no_outputs()
    dispatch.crc32(data)
    dispatch.crc32c(data)
    dispatch.scan_window(data, 0, 0, rows)
    if dispatch.HAS_PREAD:
        with tempfile.TemporaryFile() as file:
            dispatch.scan_file(file.fileno(), 0, 0, np.zeros(4096, np.uint8), rows)
    dispatch.decode_records(data, spans, rows, 0, 0, 0, out)
    dispatch.decode_messages(data, spans, rows, 0, 0, 0, out)
    headers = np.zeros((2, len(SEARCHED_FIELDS)), np.int64)
    dispatch.find_batch(data, 0, 0, 0, 0, rows, headers)
    columns = (out.offsets, out.timestamps, out.batch)
    dispatch.find_record(data, 0, 0, 0, 0, rows, headers, *columns)
    dispatch.check_crcs(data, 0, rows[:0], matches)
    dispatch.check_message_crcs(data, 0, rows[:0], matches)
    dispatch.first_invalid(data, 0, rows[:0])
    dispatch.choose_entries(rows, 0, 0, np.empty(1, np.int64))
    checked = np.zeros((1, COLUMNS), np.int64)
    dispatch.check_batches(data, 64, checked, 0, 0, 0, 0)
    dispatch.check_records(data, 0, 0, checked[0], 0, 0, 0, 0)
    dispatch.are_canonical(data, 0, 0, 0, 0)
    dispatch.measure_records(out, spans[0, :0], 0, 0, 0)
    dispatch.murmur2_many(spans[0, :1], data, spans[0, :0])
    _compile_avro(data, spans)
    dispatch.encode_records(out, spans[0, :0], 0, 0, 0, data, 0)
    _compile_compaction(data, rows, spans)
    if dispatch.COMPILED:
        _compile_codecs(data, spans)
        from workbench.kernels.codecs.packed import decode_packed
        from workbench.kernels.codecs.packing import pack_batches

        source = np.frombuffer(bytes(8), np.uint8)
        library = Library()
        pack_batches(data, 0, 0, library, np.zeros(1, BATCH_OUTCOME), 0, 0, data, 0)
        task, bounds = DecodeTask(0, 0, 0), DecompressionBounds(0, 0, 0)
        decode_packed(source, spans[:0], task, bounds, library, data, spans, rows, out)
        ready_mark().touch()


def _compile_avro(data: npt.NDArray[np.uint8], spans: npt.NDArray[np.int64]) -> None:
    ends = np.zeros((1, 4), np.int64)  # the operation END
    flat = np.zeros(1, np.int64)
    results = np.zeros((0, 2), np.int64)
    dispatch.decode_avro(data, spans[:0], ends, flat, spans, flat, flat, results, False)  # noqa: FBT003
    dispatch.gather_bytes(data, flat[:0], flat, data)


def _compile_compaction(
    data: npt.NDArray[np.uint8], rows: npt.NDArray[Any], spans: npt.NDArray[np.int64]
) -> None:
    places, outcomes = np.zeros(1, RECORD_PLACE), np.zeros(1, BATCH_OUTCOME)
    numbers, reasons = np.zeros(6, np.int64), np.zeros((1, FACTS), np.uint8)
    dispatch.survey_batches(rows[:0])
    dispatch.superseded_batches(rows[:0], data, 0)
    dispatch.locate_records(data, spans, rows, 0, 0, places, 0, data, 0)
    dispatch.put_keys(data, places, 0, 0, numbers, 0, 0, 0, data, 0, 0)
    dispatch.find_keys(data, places, 0, 0, numbers, 0, 0, data, 0, numbers)
    arrow_bytes = np.frombuffer(bytes(8), np.uint8)  # read-only, as Arrow's are
    dispatch.sum_keys(arrow_bytes, places[:0], 0, 0, spans.reshape(2, 1))
    decided = (data, numbers)
    dispatch.decide_batches(rows, places, numbers, 0, reasons, 0, 0, outcomes, 0, 0, *decided)
    dispatch.write_batches(data, data, rows, places, 0, data, 0, outcomes, 0, 0, data, 0)
    dispatch.seal_batch(np.zeros(BATCH_HEADER_SIZE, np.uint8), 0, BATCH_HEADER_SIZE)


def _compile_codecs(target: npt.NDArray[np.uint8], places: npt.NDArray[np.int64]) -> None:
    from workbench.kernels.codecs.lz4 import decode_blocks
    from workbench.kernels.codecs.unpack import unpack_bodies

    source = np.frombuffer(bytes(8), np.uint8)
    decode_blocks(source, 0, 0, target, 0, 0, 0)
    unpack_bodies(
        0, source, places[:0], 0, target, 0, DecompressionBounds(0, 0, 0), Library(), places[:0]
    )


def main() -> None:
    """Compile and print how long it took."""
    if not dispatch.COMPILED:
        sys.stderr.write("kernels run in plain Python here: nothing to compile\n")
        return
    if "--nice" in sys.argv:  # in the background
        os.nice(10)
    start = time.perf_counter()
    compile_kernels()
    seconds = time.perf_counter() - start
    sys.stdout.write(f"kernels ready in {seconds:.1f} s, kept in {kernel_folder()}\n")


if __name__ == "__main__":
    main()
