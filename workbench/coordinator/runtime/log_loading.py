"""Read the records of a coordinator's partition through the engine's log.

Kafka: CoordinatorLoaderImpl.load (4.2)
"""

from collections.abc import Iterator

from workbench.coordinator.runtime.log_records import LogChunk, cut_chunk
from workbench.errors import CorruptRecordError
from workbench.layout import problems
from workbench.log.log import Log
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import KEYS, VALUES, RecordReader


def read_log(log: Log, end: int | None = None, start: int = 0) -> Iterator[LogChunk]:
    """Yield the records of a log, as they are: CRCs are not checked.

    The memory of a chunk is used again: take what is needed before asking for the next.

    Args:
        log: a log of `__consumer_offsets` or `__transaction_state`.
        end: offset at which to stop, excluded; None: the log end offset at the beginning.
        start: offset of the first record; at least the log start offset.

    Raises:
        CorruptRecordError: a batch or record cannot be read.
        OSError: a file cannot be read.
    """
    pool, start = BufferPool(), max(start, log.log_start_offset)
    stop = log.log_end_offset if end is None else end
    for segment in log.segments:
        records = segment.log
        for chunk in RecordReader(
            records.file,
            0,
            records.size,
            options=KEYS | VALUES,
            check_crc=False,
            pool=pool,
            base_offset=segment.base_offset,
        ):
            if chunk.problems:
                problem = chunk.problems[0]
                words = problems.WORDS[problem.code]
                raise CorruptRecordError(records.path, problem.position, words)
            cut = cut_chunk(chunk, start, stop)
            if cut is not None:
                yield cut
        if segment.base_offset >= stop:
            return
