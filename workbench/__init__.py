"""Kafka Log Workbench: open a Kafka log directory in Python, without a broker.

import workbench as wb

logs = wb.open_log_directory("sample_data/shop-4.2.0")
logs.inspect.batches()                          # an Arrow table
logs.scan(topics=["orders"]).to_pandas()        # a DataFrame
logs.verify()                                   # what is damaged, and what a broker would do
"""

from importlib.metadata import PackageNotFoundError, version

from workbench.errors import (
    CorruptFileError,
    CorruptRecordError,
    LogDirectoryError,
    MissingDependencyError,
    OffsetOutOfRangeError,
    UnsupportedFormatError,
    WorkbenchError,
)
from workbench.inspection.findings import Finding
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.loaders import spark
from workbench.loaders.scan import CorruptDataWarning, Scan
from workbench.log_directory import LogDirectory, open_log_directory, verify

try:
    __version__ = version("kafka-log-workbench")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0"

__all__ = [
    "CorruptDataWarning",
    "CorruptFileError",
    "CorruptRecordError",
    "Finding",
    "LogDirectory",
    "LogDirectoryError",
    "MissingDependencyError",
    "OffsetOutOfRangeError",
    "Partition",
    "Scan",
    "Segment",
    "UnsupportedFormatError",
    "WorkbenchError",
    "open_log_directory",
    "spark",
    "verify",
]
