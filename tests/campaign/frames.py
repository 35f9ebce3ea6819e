"""Which frame of the product an error came from: what faults are grouped by."""

from pathlib import Path
from traceback import StackSummary
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_OURS: Final = tuple(f"{ROOT / folder}/" for folder in ("workbench", "widgets"))


def deepest(frames: StackSummary) -> str:
    """Return the product's innermost frame as ``file:line function``; otherwise ``outside``."""
    for frame in reversed(frames):
        if frame.filename.startswith(_OURS):
            return f"{Path(frame.filename).relative_to(ROOT)}:{frame.lineno} {frame.name}"
    return "outside"
