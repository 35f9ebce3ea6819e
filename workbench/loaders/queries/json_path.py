"""Paths into JSON, and what is compared with the value that is found there.

A list stands for its elements, as in the lax mode of SQL/JSON: ``$.items.sku`` and ``$.tags=new``
look at each. Null is a value: a path that leads to null leads somewhere.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from workbench.errors import QueryError

ANY: Final = None
"""The step that leads to every element: ``[*]``."""

Step = str | int | None

NOT_JSON: Final = object()

MOST_PARSED: Final = 4 << 20
"""Bytes of the largest text that is parsed: parsing takes up to twenty times as much."""

MOST_STEPS: Final = 100
"""Steps of a path: each can open a list inside of a list."""

_LARGEST_BOUND: Final = 10**15

_STEP: Final = re.compile(
    r"""\.(?P<name>[^\s.\[\]()=<>!~:"]+)|\[(?P<index>\d{1,9})\]|\[(?P<any>\*)\]"""
    r"""|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]"""
)
_SIMPLE: Final = re.compile(r"[\w .-]+", re.ASCII)


def take_path(text: str, at: int) -> tuple[tuple[Step, ...], int]:
    r"""Return the steps of the path after its ``$``, and where it ends.

    Args:
        text: a text in which a path begins: ``.customer.id``, ``[0]``, ``[*]``, ``["a b"]``.
        at: the place after the ``$``.

    Raises:
        QueryError: a name in brackets cannot be read, or there are more than `MOST_STEPS`.
    """
    steps: list[Step] = []
    while (found := _STEP.match(text, at)) is not None:
        if found["name"] is not None:
            steps.append(found["name"])
        elif found["index"] is not None:
            steps.append(int(found["index"]))
        elif found["any"] is not None:
            steps.append(ANY)
        else:
            steps.append(_unquoted(found["quoted"]))
        at = found.end()
        if len(steps) > MOST_STEPS:
            raise QueryError(f"the path has more than {MOST_STEPS} steps")
    return tuple(steps), at


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        raise QueryError(f'["{text}"] is not a quoted name of a field') from None


def values_at(document: Any, steps: tuple[Step, ...]) -> Iterator[Any]:
    """Yield the values that a path leads to in parsed JSON: several through lists."""
    for at, step in enumerate(steps):
        if isinstance(document, list) and not isinstance(step, int):
            for each in document:
                if step is ANY:
                    yield from values_at(each, steps[at + 1 :])
                elif isinstance(each, dict):  # not a list in the list: one level opens
                    yield from values_at(each, steps[at:])
            return
        if isinstance(step, str):
            if not isinstance(document, dict) or step not in document:
                return
            document = document[step]
        elif step is ANY or not isinstance(document, list):
            return
        elif step < len(document):
            document = document[step]
        else:
            return
    yield document


def paths_in(documents: Iterable[Any], most: int) -> list[str]:
    """Return the paths of the fields of parsed JSON, as a query writes them, each once.

    Args:
        documents: the JSON; what is in lists counts as theirs.
        most: how many paths are returned.
    """
    found: dict[str, None] = {}
    left = [("$", document) for document in documents]
    while left and len(found) < most:
        path, value = left.pop(0)
        if isinstance(value, list):
            left += [(path, each) for each in value if isinstance(each, dict)]
        elif isinstance(value, dict):
            for name, inner in value.items():
                found[path + step_text(name)] = None
                left.append((path + step_text(name), inner))
    return list(found)[:most]


def step_text(name: str) -> str:
    """Return the step to a field as a path writes it: ``.id``, or ``["a b"]``."""
    is_plain = _SIMPLE.fullmatch(name) and not set(name) & {" ", "."}
    return f".{name}" if is_plain else f"[{json.dumps(name, ensure_ascii=False)}]"


def parsed(data: memoryview | bytes) -> Any:
    """Return JSON in UTF-8 as Python's values; `NOT_JSON` if it is something else."""
    if len(data) > MOST_PARSED:
        return NOT_JSON
    try:
        return json.loads(str(data, "utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NOT_JSON


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


@dataclass(frozen=True)
class Comparison:
    """A comparison with a literal.

    Attributes:
        operator: ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``.
        literal: the parsed JSON of the literal, or its text if it is not JSON.
        text: the literal as it was typed: an unquoted 42 equals the text "42", too.
    """

    operator: str
    literal: Any
    text: str | None

    def holds(self, value: Any) -> bool:
        """Return whether a value compares so; of a list, whether an element does.

        Numbers and texts compare with their own kind. A text that is a number compares as one with
        a number that was not quoted.
        """
        if isinstance(value, list) and not isinstance(self.literal, list):
            return any(map(self._holds, value))
        return self._holds(value)

    def _holds(self, value: Any) -> bool:
        if self.operator in {"=", "!="}:
            return self._equals(value) is (self.operator == "=")
        wanted = self.literal
        if isinstance(value, str) and self.text is not None:
            number = parsed(value.encode("utf-8", "surrogatepass")) if _is_number(wanted) else None
            value, wanted = (number, wanted) if _is_number(number) else (value, self.text)
        if not (_is_number(value) and _is_number(wanted)) and not (
            isinstance(value, str) and isinstance(wanted, str)
        ):
            return False
        if self.operator[0] == "<":
            return bool(value < wanted or (self.operator == "<=" and value == wanted))
        return bool(value > wanted or (self.operator == ">=" and value == wanted))

    def _equals(self, value: Any) -> bool:
        if isinstance(value, bool) or isinstance(self.literal, bool):
            return value is self.literal
        return bool(value == self.literal or (self.text is not None and value == self.text))


@dataclass(frozen=True)
class OneOf:
    """Several comparisons, one of which must hold."""

    comparisons: tuple[Comparison, ...]

    def holds(self, value: Any) -> bool:
        """Return whether a value, or an element of a list, compares so."""
        return any(each.holds(value) for each in self.comparisons)


def comparison(operator: str, operand: str, *, is_quoted: bool) -> Comparison:
    """Return the comparison with an operand: JSON, or text."""
    if is_quoted:
        return Comparison(operator, operand, None)
    value = parsed(operand.encode("utf-8", "surrogatepass"))
    return Comparison(operator, operand if value is NOT_JSON else value, operand)


def needed_text(steps: tuple[Step, ...], wanted: Comparison | None = None) -> bytes | None:
    r"""Return a regular expression that JSON matches if the path leads to what is wanted.

    A name appears there as it is, unless a backslash writes one of its characters, and so does the
    value that it must be equal to. So most values need not be parsed.

    Args:
        steps: the path.
        wanted: what the value must compare with; None: anything.
    """
    names = [step for step in steps if isinstance(step, str)]
    if not names or not all(_SIMPLE.fullmatch(name) for name in names):
        return None
    is_last = isinstance(steps[-1], str)
    value = _needed_value(wanted) if wanted is not None and is_last else b""
    name = _escaped(names[-1] if is_last else max(names, key=len))
    return rb'"' + name + rb'"\s*:\s*' + value + rb"|\\"


def _needed_value(wanted: Comparison) -> bytes:
    """Return a regular expression for what a value begins with that compares so."""
    if wanted.operator[0] in "<>":
        return _needed_number(wanted)
    literal = wanted.text if wanted.text is not None else wanted.literal
    if wanted.operator != "=" or not isinstance(literal, str) or not _SIMPLE.fullmatch(literal):
        return b""
    text = _escaped(literal)
    if _is_number(wanted.literal):  # 42 may be written 42.0 or 4.2e1
        if literal != str(wanted.literal) or isinstance(wanted.literal, float):
            return b""
        return rb'(?:\[|"?' + text + rb"|-?[0-9]+[.eE])"
    return rb'(?:\[|"?' + text + rb")"


def _needed_number(wanted: Comparison) -> bytes:
    """Return a regular expression for numbers whose whole part allows the comparison, and texts."""
    bound = wanted.literal
    if not _is_number(bound) or not 0 < bound < _LARGEST_BOUND:
        return b""
    digits, is_above = str(int(bound)), wanted.operator[0] == ">"
    forms = [digits, f"[1-9][0-9]{{{len(digits)},}}" if is_above else ""]
    if not is_above and len(digits) > 1:
        forms.append(f"[0-9]{{1,{len(digits) - 1}}}")
    for at, digit in enumerate(digits):
        low, high = (int(digit) + 1, 9) if is_above else (0, int(digit) - 1)
        if low <= high:
            forms.append(f"{digits[:at]}[{low}-{high}][0-9]{{{len(digits) - at - 1}}}")
    whole = "|".join(filter(None, forms))
    rest = "" if is_above else "-|"  # every negative number is below the bound
    end = "" if is_above else r"(?:[^0-9]|\z)"
    return rf'(?:\[|"|{rest}(?:{whole}){end}|-?[0-9][0-9.]*[eE])'.encode()


def _escaped(text: str) -> bytes:
    return re.sub(rb"([.\-])", rb"\\\1", text.encode())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
