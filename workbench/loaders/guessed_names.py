"""Says where a name is that people look for on an object that does not have it."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from workbench.runtime.signatures import explain_calls
from workbench.runtime.words import did_you_mean

_NAMES: Final = re.compile(r"\w+")

_OTHER_WORDS: Final = {
    "batches": "inspect.batches",
    "check": "verify",
    "consume": "scan",
    "count": "scan().count",
    "diff": "compare",
    "explain": "explain_cleaning",
    "export": "scan().to_parquet",
    "find": "scan().filter",
    "get": "scan",
    "grep": "scan().filter",
    "group": "explain_group",
    "head": "scan().head",
    "lag": "inspect.group_lags",
    "latest": "scan(latest=True)",
    "messages": "scan",
    "predict": "predict_startup",
    "query": "sql",
    "read": "scan",
    "records": "scan",
    "search": "scan().filter",
    "size": "inspect.disk_usage",
    "tail": "scan().tail",
    "to_dicts": "scan().to_pylist",
    "transaction": "explain_transaction",
    "why": "explain_cleaning",
}
"""What other tools call it, and the name here."""

_OF_THE_MODULE: Final = {
    "load": "open_log_directory",
    "open": "open_log_directory",
    "read": "open_log_directory(…).scan",
    **{name: f"open_log_directory(…).{name}" for name in ("inspect", "scan", "sql", "report")},
}
"""The same for names that people look for in the package itself."""


def hint_of_module(name: str, names: Sequence[str]) -> str:
    """Return what a name of the package `workbench` was probably meant for, or nothing.

    Args:
        name: the name that it does not have.
        names: those that it has.
    """
    word = name.lower()
    other = _OTHER_WORDS.get(word, name)
    if word not in _OF_THE_MODULE and other in names:
        return f"; did you mean {other}?"
    if word in _OTHER_WORDS or word in _OF_THE_MODULE:
        return f"; did you mean {_OF_THE_MODULE.get(word, f'open_log_directory(…).{other}')}?"
    return ""


class GuessedNames:
    """Names what was probably meant when an attribute or an option does not exist."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        explain_calls(cls, also=("__init__",))

    if not TYPE_CHECKING:  # mypy would believe that every attribute exists

        def __getattr__(self, name: str) -> NoReturn:
            hint = "" if name.startswith("_") else _hint(type(self), name, self._leads_to())
            text = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(text, name=name, obj=None if hint else self)  # Python guesses, too

    @classmethod
    def _leads_to(cls) -> Mapping[str, type]:
        """Return what one gets from such an object, and its class: the name may be there."""
        return {}


def _hint(kind: type, name: str, places: Mapping[str, type]) -> str:
    """Return where a name is: on the scan, in `inspect`, under another word, or misspelled."""
    other = _OTHER_WORDS.get(name.lower(), name)
    if not hasattr(kind, "scan"):  # it is one
        other = other.removeprefix("scan().")
    if other != name and hasattr(kind, _NAMES.findall(other)[0]):
        return f"; did you mean {other}?"
    for place, there in places.items():
        if hasattr(there, other):
            return f"; did you mean {place}.{other}?"
    return did_you_mean(name, [each for each in dir(kind) if not each.startswith("_")])
