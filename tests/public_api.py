"""The public names and their signatures, as text: what a release promises to keep.

``python -m tests.public_api`` writes `tests/public_api.txt`. A change of that file is a change of
what users call: take it as such, and give it a line in CHANGELOG.md.
"""

import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import workbench

LIST: Final = Path(__file__).with_name("public_api.txt")


def described() -> str:
    """Return one line for each public name, and for each public attribute of a class."""
    return "".join(f"{line}\n" for name in workbench.__all__ for line in _lines(name))


def _lines(name: str) -> Iterator[str]:
    thing = getattr(workbench, name)
    if inspect.ismodule(thing):
        own = (each for each in vars(thing) if not each.startswith("_"))
        yield f"module {name}"
        for each in sorted(own):
            found = getattr(thing, each)
            if inspect.isfunction(found) and found.__module__ == thing.__name__:
                yield f"  {name}.{each}{_signature(found)}"
    elif not inspect.isclass(thing):
        yield f"{name}{_signature(thing)}"
    elif issubclass(thing, Exception):
        yield f"class {name}({', '.join(base.__name__ for base in thing.__bases__)})"
    else:
        yield f"class {name}{_signature(thing)}"
        for each in sorted({each for each in dir(thing) if not each.startswith("_")}):
            found = inspect.getattr_static(thing, each)
            if inspect.isfunction(found) or isinstance(found, classmethod | staticmethod):
                yield f"  {name}.{each}{_signature(getattr(thing, each))}"
            elif isinstance(found, property | cached_property) or inspect.ismemberdescriptor(found):
                yield f"  {name}.{each}"


def _signature(function: Any) -> str:
    """Return names, kinds and defaults of parameters; types are the type checker's matter."""
    try:
        found = inspect.signature(function)
    except ValueError:  # of a class that is written in C
        return "(…)"
    bare = [
        each.replace(
            annotation=inspect.Parameter.empty,
            default=_Named(each.default)
            if each.default is not inspect.Parameter.empty
            else each.default,
        )
        for each in found.parameters.values()
    ]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


class _Named:
    """A default value whose text holds no address of memory."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        text = repr(self.value)
        return f"<{type(self.value).__name__}>" if " at 0x" in text else text


if __name__ == "__main__":
    LIST.write_text(described(), encoding="utf-8")
