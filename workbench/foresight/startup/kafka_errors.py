"""Map an error of the engine to the exception that a starting broker throws.

Kafka: the exceptions of LogManager, LogLoader and KafkaRaftServer (4.2)
"""

from typing import Final

from workbench.errors import (
    ConfigError,
    CorruptFileError,
    CorruptIndexError,
    CorruptLogError,
    CorruptNameError,
    CorruptRecordError,
    CorruptTopicIdError,
    InvalidOffsetError,
    LogDirectoryError,
    OffsetOverflowError,
    StorageError,
    UnsupportedFormatError,
)
from workbench.log_manager.registry import DuplicateLogError

_COMMON: Final = "org.apache.kafka.common"
_STORAGE: Final = "org.apache.kafka.storage.internals.log"

# The first class that an error is an instance of decides: subclasses precede their bases.
_NAMES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (StorageError, f"{_COMMON}.errors.KafkaStorageException"),
    (LogDirectoryError, f"{_COMMON}.KafkaException"),
    (DuplicateLogError, "java.lang.IllegalStateException"),
    (CorruptRecordError, f"{_COMMON}.errors.CorruptRecordException"),
    (CorruptIndexError, f"{_STORAGE}.CorruptIndexException"),
    (UnsupportedFormatError, f"{_COMMON}.KafkaException"),
    (OffsetOverflowError, f"{_STORAGE}.LogSegmentOffsetOverflowException"),
    (InvalidOffsetError, f"{_COMMON}.errors.InvalidOffsetException"),
    (CorruptNameError, "java.lang.NumberFormatException"),
    (CorruptTopicIdError, "java.lang.IllegalArgumentException"),
    (CorruptLogError, "java.lang.IllegalArgumentException"),
    (CorruptFileError, f"{_COMMON}.KafkaException"),
    (ConfigError, f"{_COMMON}.config.ConfigException"),
    (OSError, "java.io.IOException"),
)


def kafka_exception(error: BaseException) -> str:
    """Return the full name of the exception that Kafka throws where we raise ``error``."""
    if isinstance(error, CorruptTopicIdError) and error.is_short:
        return "java.lang.NullPointerException"
    for kind, name in _NAMES:
        if isinstance(error, kind):
            return name
    return "java.lang.RuntimeException"
