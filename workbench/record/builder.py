"""An alias of `record.writing.builder`, where `end_transaction_marker` moved."""

from workbench.record.writing.builder import end_transaction_marker

__all__ = ["end_transaction_marker"]
