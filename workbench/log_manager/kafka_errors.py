"""Which of Kafka's exceptions stands for an error of ours when a broker starts.

Kafka: the exceptions of LogManager, LogLoader and KafkaRaftServer (4.2)
"""

from typing import Final

from workbench.errors import (
    ConfigError,
    CorruptFileError,
    CorruptIndexError,
    CorruptRecordError,
    InvalidOffsetError,
    LogDirectoryError,
    OffsetOverflowError,
    StorageError,
    UnsupportedFormatError,
)
from workbench.log_manager.registry import DuplicateLogError

_COMMON: Final = "org.apache.kafka.common"
_STORAGE: Final = "org.apache.kafka.storage.internals.log"

# The first that an error is an instance of counts: subclasses stand above their bases.
_NAMES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (StorageError, f"{_COMMON}.errors.KafkaStorageException"),
    (LogDirectoryError, f"{_COMMON}.KafkaException"),
    (DuplicateLogError, "java.lang.IllegalStateException"),
    (CorruptRecordError, f"{_COMMON}.errors.CorruptRecordException"),
    (CorruptIndexError, f"{_STORAGE}.CorruptIndexException"),
    (UnsupportedFormatError, f"{_COMMON}.KafkaException"),
    (OffsetOverflowError, f"{_STORAGE}.LogSegmentOffsetOverflowException"),
    (InvalidOffsetError, f"{_COMMON}.errors.InvalidOffsetException"),
    (CorruptFileError, f"{_COMMON}.KafkaException"),
    (ConfigError, f"{_COMMON}.config.ConfigException"),
    (OSError, "java.io.IOException"),
    (ValueError, "java.lang.NumberFormatException"),
)


def kafka_exception(error: BaseException) -> str:
    """Return the full name of the exception that Kafka throws where we raise ``error``."""
    for kind, name in _NAMES:
        if isinstance(error, kind):
            return name
    return "java.lang.RuntimeException"
