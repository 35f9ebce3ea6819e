"""Exit codes of `kafka-workbench` besides click's own, and the word for Ctrl-C."""

from typing import Final

FAILED: Final = 3
"""A command could not do what it was asked to."""
INTERRUPTED: Final = 130
"""Ctrl-C ended a command."""
INTERRUPTED_TEXT: Final = "interrupted"
PIPE_CLOSED: Final = 141
"""The reader of stdout or stderr stopped reading."""
