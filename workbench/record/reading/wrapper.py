"""The compressed bytes of a wrapper: a message of magic 0 or 1 that holds others.

Kafka: AbstractLegacyRecordBatch.DeepRecordsIterator (4.2)
"""

from workbench.layout import problems
from workbench.layout.batch_header import MAGIC_AT
from workbench.layout.message_header import MESSAGE_V0, MESSAGE_V1


class WrapperError(ValueError):
    """A compressed message without a value that could be decompressed."""

    def __init__(self, code: int) -> None:
        super().__init__(problems.WORDS[code])
        self.code = code


def wrapper_value(entry: memoryview) -> tuple[int, int]:
    """Return start and end of the compressed bytes of a magic 0 or 1 wrapper, given the entry.

    Raises:
        WrapperError: it is null, or sizes do not fit.
    """
    header = MESSAGE_V1.itemsize if entry[MAGIC_AT] == 1 else MESSAGE_V0.itemsize
    key_size = int.from_bytes(entry[header : header + 4], signed=True)
    at = header + 4 + max(key_size, 0)
    if at + 4 > len(entry):
        raise WrapperError(problems.BAD_KEY)
    size = int.from_bytes(entry[at : at + 4], signed=True)
    if size < 0:
        raise WrapperError(problems.NULL_WRAPPER)
    if at + 4 + size > len(entry):
        raise WrapperError(problems.BAD_VALUE)
    return at + 4, at + 4 + size
