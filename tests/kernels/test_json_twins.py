"""Fields of JSON: the compiled kernel, its plain twin, and Python's `json` find the same."""

import json
import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.values.json_texts import NAMES, VALUES, WHOLE, object_text
from workbench.kernels import dispatch
from workbench.kernels.plain import json as plain
from workbench.values.inference import MOST_BYTES

Picked = list[tuple[bytes, bool]]


def picked(module: Any, values: list[bytes], names: list[str]) -> Picked:
    """Return what is kept of each value, and whether it is whole."""
    ends = np.cumsum([len(value) for value in values], dtype=np.int64)
    spans = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)
    each_name = [name.encode().lower() for name in names]
    out = np.zeros(int(ends[-1]), np.uint8)
    offsets, is_whole = np.zeros(len(values) + 1, np.int64), np.zeros(len(values), np.bool_)
    used = module.pick_json_fields(
        np.frombuffer(b"".join(values), np.uint8),
        spans,
        np.frombuffer(b"".join(each_name), np.uint8),
        np.cumsum([len(name) for name in each_name], dtype=np.int64),
        plain.working_memory(),
        out,
        offsets,
        is_whole,
    )
    assert used == offsets[-1]
    pieces = [out[first:end].tobytes() for first, end in pairwise(offsets)]
    return list(zip(pieces, is_whole.tolist(), strict=True))


def members(text: bytes) -> dict[str, Any]:
    """Return an object as Python reads it, numbers as their text.

    Raises:
        ValueError, RecursionError: it is none, or a name comes twice.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    found = json.loads(text.decode(), parse_float=str, parse_int=str, object_pairs_hook=once)
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004 - as json raises
    return found


def is_odd(value: Any, depth: int = 1) -> bool:
    """Return whether JSON, numbers as texts, is something that not every parser reads alike."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, str):
        is_large = value.lstrip("-")[:1].isdigit() and (
            len(value) > 200 or "e" in value[-5:].lower()
        )
        return is_large or any("\ud800" <= sign <= "\udfff" for sign in value)
    inner = [*value.values(), *value] if isinstance(value, dict) else value
    is_nested = isinstance(value, dict | list)
    return depth > 30 or (is_nested and any(is_odd(each, depth + 1) for each in inner))


def check(text: bytes, found: bytes, is_whole: bool, names: list[str]) -> None:  # noqa: FBT001
    try:
        wanted = members(text)
    except (ValueError, RecursionError):
        assert is_whole, text
        assert found == text
        return
    if is_whole:
        assert found == text
        assert is_odd(wanted) or b"\\" in text or len(wanted) > 200, text
        return
    kept = {name.encode().lower() for name in names}
    expected = {name: each for name, each in wanted.items() if name.encode().lower() in kept}
    assert members(found) == expected, text


def texts() -> list[bytes]:
    randomly = random.Random(48)
    return [
        *WHOLE,
        *(f'{{"b":{value},"a":{value}}}'.encode() for value in VALUES),
        *(f'{{"{name}":1}}'.encode() for name in NAMES),
        *(object_text(randomly) for _ in range(400)),
    ]


@pytest.mark.parametrize("names", [["a"], ["a", "b", "ä"], [""], ["nowhere"]])
def test_fields_are_those_that_python_finds(names: list[str]) -> None:
    values = texts()
    found = picked(dispatch, values, names)
    assert found == picked(plain, values, names)
    for text, (kept, is_whole) in zip(values, found, strict=True):
        check(text, kept, is_whole, names)
    assert 100 < sum(is_whole for _, is_whole in found) < len(values) - 100


def test_an_object_that_ends_at_any_byte_is_whole() -> None:
    value = r' {"b":[1,{"c":-1.5e3}],"a" : {"ä":"€😀\ud83d\ude00\n"},"n":null,"t":true,"f":false} '
    data = value.encode()
    cuts = [data[:end] for end in range(len(data) + 1)]
    found = picked(dispatch, cuts, ["a"])
    assert found == picked(plain, cuts, ["a"])
    assert found[-1] == (r'{"a" : {"ä":"€😀\ud83d\ude00\n"}}'.encode(), False)
    assert [is_whole for _, is_whole in found[:-2]] == [True] * (len(cuts) - 2)


def test_limits() -> None:
    deepest, most = plain.DEEPEST, plain.MOST_NAMES
    values = [
        b'{"a":' + b"[" * (deepest - 1) + b"]" * (deepest - 1) + b"}",
        b'{"a":' + b"[" * deepest + b"]" * deepest + b"}",
        b"{" + b",".join(b'"%d":0' % at for at in range(most)) + b"}",
        b"{" + b",".join(b'"%d":0' % at for at in range(most + 1)) + b"}",
        b'{"a":[' + b",".join([b'{"x":0}'] * (plain.MOST_FIELDS - 1)) + b"]}",
        b'{"a":[' + b",".join([b'{"x":0}'] * plain.MOST_FIELDS) + b"]}",
        b'{"a":' + b"1" * plain.MOST_DIGITS + b"}",
        b'{"a":' + b"1" * (plain.MOST_DIGITS + 1) + b"}",
    ]
    assert [whole for _, whole in picked(dispatch, values, ["a"])] == [False, True] * 4
    assert [whole for _, whole in picked(plain, values, ["a"])] == [False, True] * 4
    assert plain.LARGEST == MOST_BYTES  # of what a type is inferred from
    assert float("9" * plain.MOST_DIGITS + "e99") < math.inf
