"""Warnings of what reads records, given at the line that called the workbench."""

import inspect
import warnings
from typing import Final

_OURS: Final = ("workbench.", "widgets.")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn of something, at the line that called the workbench."""
    frame, level = inspect.currentframe(), 0
    while frame and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
