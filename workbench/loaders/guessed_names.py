"""Says where a name is that people look for on an object that does not have it."""

from typing import TYPE_CHECKING, Final, NoReturn

from workbench.runtime.words import did_you_mean

_OTHER_WORDS: Final = {
    "export": "scan().to_parquet",
    "find": "scan().filter",
    "grep": "scan().filter",
    "group": "explain_group",
    "messages": "scan",
    "query": "sql",
    "read": "scan",
    "records": "scan",
    "search": "scan().filter",
    "to_dicts": "scan().to_pylist",
    "transaction": "explain_transaction",
}
"""What other tools call it, and the name here."""


class GuessedNames:
    """Names what was probably meant when an attribute does not exist."""

    if not TYPE_CHECKING:  # mypy would believe that every attribute exists

        def __getattr__(self, name: str) -> NoReturn:
            hint = "" if name.startswith("_") else _hint(type(self), name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")


def _hint(kind: type, name: str) -> str:
    """Return where a name is: on the scan, in `inspect`, under another word, or misspelled."""
    from workbench.loaders.scan.scan import Scan
    from workbench.loaders.tables.inspect import Inspect

    other = _OTHER_WORDS.get(name.lower(), name)
    if kind is Scan:
        other = other.removeprefix("scan().")
    if other != name and hasattr(kind, other.partition("(")[0]):
        return f"; did you mean {other}?"
    for place, there in (("scan", Scan), ("inspect", Inspect)):
        if hasattr(kind, place) and hasattr(there, other):
            return f"; did you mean {'scan()' if there is Scan else place}.{other}?"
    return did_you_mean(name, [each for each in dir(kind) if not each.startswith("_")])
