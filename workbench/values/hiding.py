"""Whether keys, values and headers are shown where no option says so.

They are shown to the person who looks at their own files, unless that person hides them, or who
looks after the machine: a line ``values=hidden`` in `SETTINGS`.
"""

import os
from typing import Final

VALUES: Final = "KAFKA_WORKBENCH_VALUES"
SETTINGS: Final = "/etc/kafka-log-workbench.conf"
"""The settings of all users of a machine: lines ``NAME=VALUE``, and comments after ``#``."""

_SHOWN_OR_HIDDEN: Final = ("shown", "hidden")


def shown_by_default() -> bool:
    """Return whether values are shown: not if the environment, or else `SETTINGS`, says "hidden".

    Raises:
        ValueError: one of them has another word than "shown" and "hidden", or cannot be read.
    """
    where, word = VALUES, os.environ.get(VALUES, "")
    if not word:
        where, word = f"values in {SETTINGS}", _settings().get("values", "shown")
    if word not in _SHOWN_OR_HIDDEN:
        raise ValueError(f"{where} is {word!r} (expected shown or hidden)")
    return word == "shown"


def _settings() -> dict[str, str]:
    """Return the settings of the machine; none if there is no file.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        with open(SETTINGS, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValueError(f"{SETTINGS}: {error.strerror}") from error
    pairs = (line.partition("#")[0].partition("=") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}
