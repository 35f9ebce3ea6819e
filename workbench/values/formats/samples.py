"""The first values of a topic, from which a type is inferred."""

import re
from typing import Any, Final

from workbench.errors import SchemaError

MOST_FIELDS: Final = 5000
"""Fields of a type that is inferred; a value with more of its own is not looked at for it."""

_DEEPEST: Final = 60
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def usable_samples(values: list[Any], format_name: str) -> list[Any]:
    """Return the values that a type can be inferred from: small enough, and of text that is UTF-8.

    Raises:
        SchemaError: they have too many fields together.
    """
    found, names = [], set()
    for value in values:
        own = _names_in(value)
        if own is None:
            continue
        found.append(value)
        names |= own
        if len(names) > MOST_FIELDS:
            raise SchemaError(
                f"the first values of {format_name} have more than {MOST_FIELDS:,} fields; give "
                "their schema"
            )
    return found


def _names_in(value: Any) -> set[tuple[str, ...]] | None:
    """Return the paths of fields in a value; None for too many, or a name that is not UTF-8."""
    names: set[tuple[str, ...]] = set()
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, list):
            waiting += [(path, item) for item in each if isinstance(item, dict | list)]
        elif isinstance(each, dict):
            if len(path) > _DEEPEST:
                return None
            for name, item in each.items():
                if _SURROGATE.search(name):
                    return None
                names.add((*path, name))
                if len(names) > MOST_FIELDS:
                    return None
                if isinstance(item, dict | list):
                    waiting.append(((*path, name), item))
    return names
