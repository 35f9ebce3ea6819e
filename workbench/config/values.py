"""Values of configurations: how a text is parsed, and which values are allowed.

Kafka: ConfigDef.parseType, ConfigDef.Range, ConfigDef.ValidList (4.2)
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, isnan
from typing import Any, Final, Literal

from workbench.config.removed_configs import why_removed
from workbench.errors import ConfigError
from workbench.files.text import parse_integer
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.runtime.words import did_you_mean

Kind = Literal["boolean", "int", "long", "double", "string", "list"]
Value = bool | int | float | str | tuple[str, ...] | None

_COMMA: Final = re.compile(r"\s*,\s*")
_DOUBLE: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?", re.ASCII)
_NAMES_OF_DOUBLES: Final = {
    f"{sign}{name}" for sign in ("", "+", "-") for name in ("NaN", "Infinity")
}
_SPACE: Final = "".join(map(chr, range(33)))  # characters that Java's trim removes
_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?", re.ASCII)
_LARGEST: Final = {"int": INT32_MAX, "long": INT64_MAX}
_WORDS: Final = {
    "boolean": "true or false",
    "int": "a whole number of 32 bits",
    "long": "a whole number of 64 bits",
    "double": "a number",
    "string": "a text",
    "list": "words separated by commas",
}


def parse_value(name: str, value: Any, kind: Kind) -> Value:
    """Parse a configuration's value.

    Args:
        name: the configuration's name, for the error.
        value: a value of the kind, or a text to parse; None is returned as None.
        kind: the kind wanted. A list is returned as a tuple.

    Raises:
        ConfigError: the value is of another kind, or its text cannot be parsed as this kind.
    """
    if value is None:
        return None
    parsed = _parse_text(value.strip(_SPACE), kind) if isinstance(value, str) else None
    if not isinstance(value, str):
        parsed = _take(value, kind)
    if parsed is None:
        raise ConfigError(name, f"{value!r} is not {_WORDS[kind]}")
    return parsed


def text_of(value: Value) -> str | None:
    """Return a configuration's value as Kafka writes it; None for none.

    Kafka: ConfigDef.convertToString (4.2)
    """
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, float) and "e" in repr(value):
        digits, _, exponent = repr(value).partition("e")
        return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
    return None if value is None else str(value)


@lru_cache(maxsize=1 << 10)
def _parse_text(text: str, kind: Kind) -> Value:
    match kind:
        case "string":
            return text
        case "list":
            return tuple(_COMMA.split(text)) if text else ()
        case "boolean":
            return {"true": True, "false": False}.get(text.lower())
        case "double":
            if text in _NAMES_OF_DOUBLES:
                return float(text)
            return float(text.rstrip("fFdD")) if _DOUBLE.fullmatch(text) else None
        case _:
            return parse_integer(text, _LARGEST[kind])


def _take(value: Any, kind: Kind) -> Value:
    match kind:
        case "boolean":
            return value if isinstance(value, bool) else None
        case "list" if isinstance(value, list | tuple | set | frozenset):
            words = sorted(value) if isinstance(value, set | frozenset) else value
            return tuple(words) if all(isinstance(word, str) for word in words) else None
        case "double" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case "int" | "long" if isinstance(value, int) and not isinstance(value, bool):
            largest = _LARGEST[kind]
            return value if -largest - 1 <= value <= largest else None
    return None


@dataclass(frozen=True, slots=True)
class Rule:
    """Which values are allowed.

    Attributes:
        words: the allowed values as text: "at least 1".
        holds: whether the rule allows a value of the right kind.
        is_set: whether duplicates in a list are removed.
    """

    words: str
    holds: Callable[[Any], bool]
    is_set: bool = False


ANY: Final = Rule("anything", lambda _: True)


def at_least(low: int) -> Rule:
    """Allow ``low`` and above."""
    return Rule(f"at least {low}", lambda value: value is not None and value >= low)


def between(low: float, high: float, *others: int) -> Rule:
    """Allow ``low`` to ``high``, both inclusive, and the other values named.

    NaN is neither below nor above, so Kafka takes it: a topic with such a ratio is never compacted.
    """
    text = f"{low} to {high}" + "".join(f", or {other}" for other in others)
    return Rule(text, lambda value: not (value < low or value > high) or value in others)


def one_of(*allowed: str) -> Rule:
    """Allow one of these words."""
    return Rule(", ".join(allowed), lambda value: value in allowed)


def some_of(*allowed: str) -> Rule:
    """Allow none, one or some of these words."""
    return Rule(
        f"any of {', '.join(allowed)}", lambda values: set(values) <= set(allowed), is_set=True
    )


def words() -> Rule:
    """Allow at least one word, and no empty ones."""

    def holds(values: Any) -> bool:
        return values is None or (bool(values) and all(values))

    return Rule("a list of words", holds, is_set=True)


def _are_replicas(values: Iterable[str]) -> bool:
    pairs = [value.strip(_SPACE) for value in values]
    return "".join(pairs) == "*" or all(map(_REPLICA.fullmatch, pairs))


THROTTLED_REPLICAS: Final = Rule("* or pairs partition:broker", _are_replicas)
"""Kafka: ThrottledReplicaListValidator (4.2)"""


def refuse_unknown(name: str, known: Iterable[str], what: str) -> ConfigError:
    """Return the error for an unknown name: it was removed, or resembles a known one."""
    removed = why_removed(name)
    if removed is not None:
        return ConfigError(name, removed)
    return ConfigError(name, f"no such configuration of a {what}{did_you_mean(name, known)}")
