"""The links to log directories in JupyterLab's root: which ones `kafka-workbench lab` made."""

import json
from pathlib import Path
from typing import Final

LINKED: Final = ".linked.json"
"""The file in the root that has their names."""


def linked_logs(root: Path) -> list[str]:
    """Return the names of the links; none if there is no file, or it says something else."""
    try:
        names = json.loads((root / LINKED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
