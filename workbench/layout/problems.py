"""Codes for what can be wrong with the bytes of a batch, and their words.

A kernel cannot raise: it returns one of these codes and the byte position of the problem.
"""

from typing import Final

OK: Final = 0

# Why a walk over batch headers ended.
END: Final = 0
UNFINISHED: Final = 1  # fewer bytes left than a header, or than the batch's size field says
BAD_SIZE: Final = 2  # the size field is below the smallest message: the next batch is unknown
MORE_DATA: Final = 3  # the header at the position is not in the window that was given
ROWS_FULL: Final = 4
FOUND: Final = 5  # what was searched for

# What is wrong with one batch whose end is known.
SHORT_BATCH: Final = (
    10  # magic 2, but fewer than 61 bytes; or a v1 message without room for its timestamp
)
UNKNOWN_MAGIC: Final = 11
UNKNOWN_CODEC: Final = 12
BAD_COUNT: Final = 13  # a record count that is negative or cannot fit into the bytes
CRC_MISMATCH: Final = 14
BAD_COMPRESSION: Final = 15  # the compressed stream cannot be read
ZSTD_IN_OLD_FORMAT: Final = 16
TOO_LARGE: Final = 17  # needs more memory than one batch is allowed

# What is wrong with a record inside a batch.
BAD_VARINT: Final = 20  # incomplete, or longer than its type allows
BAD_RECORD_LENGTH: Final = 21
BAD_KEY: Final = 22
BAD_VALUE: Final = 23
BAD_HEADERS: Final = 24
RECORD_NOT_FILLED: Final = 25  # the fields take fewer bytes than the record's length
BYTES_AFTER_RECORDS: Final = 26  # more bytes than the declared number of records needs

# What is wrong with a wrapper of magic 0 or 1.
NULL_WRAPPER: Final = 30
EMPTY_WRAPPER: Final = 31
NESTED_COMPRESSION: Final = 32
BAD_WRAPPER_OFFSET: Final = 33
BAD_INNER_MESSAGE: Final = 34
CUT_WRAPPER: Final = 35  # its whole messages are read all the same, as Kafka does

READ: Final = frozenset({OK, CUT_WRAPPER})
"""With these the records of a batch were decoded."""

WORDS: Final = {
    UNFINISHED: "the last batch is incomplete",
    BAD_SIZE: "the batch size cannot be right",
    SHORT_BATCH: "the batch is shorter than its header",
    UNKNOWN_MAGIC: "unknown magic",
    UNKNOWN_CODEC: "unknown codec",
    BAD_COUNT: "the record count cannot be right",
    CRC_MISMATCH: "the CRC does not match",
    BAD_COMPRESSION: "the compressed records cannot be read",
    ZSTD_IN_OLD_FORMAT: "zstd is not allowed in magic 0 and 1",
    TOO_LARGE: "the batch is too large to be read",
    BAD_VARINT: "a varint is incomplete or too long",
    BAD_RECORD_LENGTH: "a record's length does not fit into the batch",
    BAD_KEY: "a key's length does not fit into the record",
    BAD_VALUE: "a value's length does not fit into the record",
    BAD_HEADERS: "a header does not fit into the record",
    RECORD_NOT_FILLED: "a record's fields end before the record does",
    BYTES_AFTER_RECORDS: "bytes are left after the last declared record",
    NULL_WRAPPER: "a compressed message has a null value",
    EMPTY_WRAPPER: "a compressed message holds no messages",
    NESTED_COMPRESSION: "a message inside a compressed message is compressed",
    BAD_WRAPPER_OFFSET: "the offset of a compressed message is below its last inner offset",
    BAD_INNER_MESSAGE: "a message inside a compressed message does not fit",
    CUT_WRAPPER: "the last message inside a compressed message is incomplete",
}  # fmt: skip
