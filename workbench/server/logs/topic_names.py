"""Which names a topic can have.

Kafka: Topic.validate (4.2)
"""

import re
from typing import Final

LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_LONGEST: Final = 249


def invalid_topic_name(name: str) -> str | None:
    """Return in Kafka's words why no topic can have a name; None if one can."""
    if not name:
        problem = "the empty string is not allowed"
    elif name in {".", ".."}:
        problem = "'.' or '..' is not allowed"
    elif len(name) > _LONGEST:
        problem = f"the length of '{name}' is longer than the max allowed length {_LONGEST}"
    elif LEGAL.fullmatch(name) is None:
        problem = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'"
        )
    else:
        return None
    return f"Topic name is invalid: {problem}"
