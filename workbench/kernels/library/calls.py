"""Call the library from Python: a function per entry, which checks its arrays first.

The library gets addresses. So an array of another type, not contiguous, read-only where it is
written to, or too short by what `entries` declares is an error here, before the call.
"""

import sys
from collections.abc import Callable
from ctypes import ArgumentError, c_int64, c_ssize_t, c_void_p
from operator import index
from typing import Any, Final

import numpy as np

from workbench.kernels.library.entries import Argument, KernelEntry, entry
from workbench.kernels.library.opening import Kernels

_READ: Final = 0x101  # NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED
_SET: Final = _READ | 0x400  # and NPY_ARRAY_WRITEABLE
_DATA: Final = object.__basicsize__  # where numpy's `PyArrayObject` has the address of its bytes


def _has_data_there() -> bool:
    """Return whether that is so in this Python: `ndarray.ctypes` takes a microsecond."""
    array = np.zeros(1, np.uint8)
    if sys.implementation.name != "cpython" or np.ndarray.__basicsize__ < _DATA + 64:
        return False
    return c_ssize_t.from_address(id(array) + _DATA).value == array.ctypes.data


_ADDRESS: Final = (
    f"number_at(id({{0}}) + {_DATA}).value" if _has_data_there() else "{0}.ctypes.data"
)


def call_of(library: Kernels, name: str) -> Callable[..., Any]:
    """Return the function that calls an entry of the library.

    It takes and returns what the kernel does: None, one number, or a tuple of numbers.

    Raises:
        TypeError: an argument is not an array of its type, contiguous, aligned, and writable where
            it is written to.
        ValueError: an array is too short.
    """
    of = entry(name)
    function = library.function(name)
    kinds, given = _c_arguments(of)
    count = len(of.results)
    function.restype = c_int64 if count == 1 else None
    results = c_int64 * max(count, 1)
    function.argtypes = [*kinds, results] if count > 1 else kinds
    names: dict[str, Any] = {
        "ArgumentError": ArgumentError,
        "number_at": c_ssize_t.from_address,
        "as_numbers": _as_numbers,
        "function": function,
        "ndarray": np.ndarray,
        "of": of,
        "require": require,
        "results": results,
    }
    names |= {f"{each.name}_dtype": each.dtype for each in of.arguments if each.dtype is not None}
    parameters = ", ".join(each.name for each in of.arguments)
    passed = ", ".join([*given, "made"] if count > 1 else given)
    lines = [f"def {name}({parameters}):"]
    if conditions := _conditions(of):
        lines.append(f"    if not ({' and '.join(conditions)}):")
        lines.append(f"        require(of, {parameters})")
    if count > 1:
        lines.append("    made = results()")
    answer = {0: "", 1: "got = "}.get(count, "")
    lines += [
        "    try:",
        f"        {answer}function({passed})",
        "    except ArgumentError:",  # numpy's integers: before the call
        f"        {answer}function(*as_numbers({passed}))",
    ]
    if count > 1:
        lines.append("    return tuple(made[:])")
    elif count:
        lines.append(f"    return {'got != 0' if of.results == ('bool',) else 'got'}")
    exec("\n".join(lines), names)  # noqa: S102 - of the table alone
    made: Callable[..., Any] = names[name]
    made.__doc__ = of.text
    return made


def _c_arguments(of: KernelEntry) -> tuple[list[Any], list[str]]:
    """Return the types of the C function's parameters, and the expressions for them."""
    kinds: list[Any] = []
    given: list[str] = []
    for each in of.arguments:
        name = each.name
        if each.kind == "array":
            kinds.append(c_void_p)
            given.append(_ADDRESS.format(name))
            for at, length in enumerate(each.lengths):
                if not at or not isinstance(length, int):
                    kinds.append(c_int64)
                    given.append(f"{name}.shape[{at}]" if at else f"len({name})")
        elif each.kind == "outputs":
            kinds.append(c_void_p)
            given.append(f"{name}.address")
        elif each.kind == "tuple":
            kinds += [c_int64] * len(each.of._fields)
            given.append(f"*{name}")
        else:
            kinds.append(c_int64)
            given.append(f"bool({name})" if each.kind == "bool" else name)
    return kinds, given


def _conditions(of: KernelEntry) -> list[str]:
    """Return the quick form of `require`."""
    found = []
    for each in of.arguments:
        if each.kind == "array":
            flags = _SET if each.is_set else _READ
            found.append(f"isinstance({each.name}, ndarray)")
            found.append(f"{each.name}.dtype is {each.name}_dtype")
            found.append(f"{each.name}.flags.num & {flags} == {flags}")
            found.append(f"{each.name}.ndim == {len(each.lengths)}")
    for array, at, least in _bounds(of):
        relation = "==" if at and isinstance(least, int) else ">="
        found.append(f"{_length(array, at)} {relation} {_words(of, least)}")
    return found


def _bounds(of: KernelEntry) -> list[tuple[Argument, int, Any]]:
    """Return the arrays, dimensions and lengths that are to be checked."""
    arrays = [each for each in of.arguments if each.kind == "array"]
    found = []
    for each in arrays:
        for at, length in enumerate(each.lengths):
            if isinstance(length, int) or _owner(of, length[0]) != (each, at):
                found.append((each, at, length))
    return found


def _owner(of: KernelEntry, letter: str) -> tuple[Argument, int] | None:
    """Return the array and the dimension that give a letter its value: the first without more."""
    for each in of.arguments:
        for at, length in enumerate(each.lengths):
            if length == (letter, 0):
                return each, at
    return None


def _length(array: Argument, at: int) -> str:
    return f"{array.name}.shape[{at}]" if at else f"len({array.name})"


def _words(of: KernelEntry, length: Any) -> str:
    """Return a length as an expression."""
    if isinstance(length, int):
        return str(length)
    letter, more = length
    owner = _owner(of, letter)
    assert owner is not None, f"{of.text}: no array has the length {letter}"
    return _length(*owner) + (f" + {more}" if more else "")


def require(of: KernelEntry, *arguments: Any) -> None:
    """Raise for the first array that does not fit; see `call_of`."""
    given = {each.name: argument for each, argument in zip(of.arguments, arguments, strict=True)}
    for each in of.arguments:
        if each.kind == "array":
            _require_kind(of, each, given[each.name])
    for array, at, least in _bounds(of):
        found, wanted = given[array.name].shape[at], _value(of, least, given)
        if found != wanted if at and isinstance(least, int) else found < wanted:
            raise ValueError(
                f"{of.name}: {array.name} is too short: found {found} in dimension {at + 1}, "
                f"expected {wanted} ({of.text})"
            )


def _require_kind(of: KernelEntry, each: Argument, array: Any) -> None:
    where = f"{of.name}: {each.name}"
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{where} is {type(array).__name__} (expected an array: {of.text})")
    if array.dtype != each.dtype or array.ndim != len(each.lengths):
        raise TypeError(
            f"{where}: found {array.dtype} in {array.ndim} dimensions (expected {of.text})"
        )
    if array.flags.num & _READ != _READ:
        raise TypeError(f"{where} is not contiguous and aligned (expected {of.text})")
    if each.is_set and not array.flags.writeable:
        raise TypeError(f"{where} is read-only, and is written to (expected {of.text})")


def _value(of: KernelEntry, length: Any, given: dict[str, Any]) -> int:
    if isinstance(length, int):
        return length
    letter, more = length
    owner = _owner(of, letter)
    assert owner is not None
    return int(given[owner[0].name].shape[owner[1]] + more)


def _as_numbers(*arguments: Any) -> list[Any]:
    """Return arguments of a C function with numpy's integers as Python's."""
    return [each if hasattr(each, "_length_") else index(each) for each in arguments]
