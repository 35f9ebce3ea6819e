"""Masks: rules by topic and path that keep private data out of what a scan gives.

    orders  value.customer.email  hash
    orders  value.card            first 4
    *       headers.x-user        drop

A rule is applied before a value leaves the scan. What a rule cannot look into is masked as a whole:
a map, or a field that is text where the rule names a field of it. A rule that would hide nothing,
or everything, by mistake is refused: its topic is not there, or values are not decoded and it names
a field of them. A widget knows only bytes: there, it drops the value.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import SchemaError
from workbench.runtime.words import did_you_mean
from workbench.values.far_times import plain_texts
from workbench.values.schemas.schemas import read_schema
from workbench.values.types import is_bytes, items_of

How = Literal["drop", "hash", "first"]

COLUMNS: Final = ("key", "value", "headers", "metadata")
"""What a path may begin with: columns, and the metadata of committed offsets in widgets."""

DROPPED: Final = b"masked"
"""What a widget shows of what is dropped."""

_BEGINNINGS: Final = "key, value, headers or metadata"
_DIGEST: Final = 16  # bytes of a hash that are kept


@dataclass(frozen=True)
class Mask:
    """One rule.

    Attributes:
        topic: name of a topic, with ``*`` and ``?`` for any characters.
        path: ``key``, ``value`` or ``headers``, then names of fields, with dots between. Lists are
            looked into, maps as a whole. After ``headers``, the name of one header. ``metadata`` is
            the text that consumers commit with their offsets; only widgets show it.
        how: drop: null; hash: an HMAC-SHA256 of the value's text or bytes, as 32 hex digits, or 16
            bytes for bytes; first: only the first characters, or bytes, of the text or bytes.
        keep: how many, for first.

    Raises:
        SchemaError: the rule has no meaning.
    """

    topic: str
    path: str
    how: How
    keep: int = 0

    def __post_init__(self) -> None:
        if self.path.split(".")[0] not in COLUMNS or "" in self.path.split("."):
            raise SchemaError(f"mask {self.path!r}: a path begins with {_BEGINNINGS}")
        if self.how not in get_args(How):
            raise SchemaError(f"mask {self.path}: {self.how!r} is not drop, hash or first N")
        if self.keep < 0 or (self.how != "first" and self.keep):
            raise SchemaError(f"mask {self.path}: {self.how} {self.keep} has no meaning")

    @classmethod
    def parse(cls, text: str) -> "Mask":
        """Return the rule of a line: topic, path and how, with blanks between.

        Raises:
            SchemaError: it is not a rule.
        """
        match text.split():
            case [topic, path, "drop" | "hash" as how]:
                return cls(topic, path, how)
            case [topic, path, "first", keep] if keep.isdecimal():
                return cls(topic, path, "first", int(keep))
        raise SchemaError(f"mask {text.strip()[:100]!r}: not TOPIC PATH drop, … hash or … first N")


@dataclass(frozen=True)
class Masks:
    """Rules, and the key of their hashes.

    Attributes:
        rules: the rules; every one that fits is applied.
        key: of the HMAC. The default is new each time: hashes of two runs then differ.
    """

    rules: tuple[Mask, ...] = ()
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @classmethod
    def of(cls, masks: "AnyMasks", key: bytes | None = None) -> "Masks":
        """Return masks given in any form: rules, lines, a file of lines (``#`` begins a comment).

        Raises:
            SchemaError: a rule has no meaning, or the file cannot be read.
        """
        if masks is None:
            return cls((), b"")
        if isinstance(masks, Masks):
            return masks
        if isinstance(masks, os.PathLike):
            masks = read_schema(os.fspath(masks))
        if not isinstance(masks, Iterable):
            raise TypeError(f"mask is {masks!r}, not a rule, several or a file of them")
        lines: Iterable[Mask | str] = masks.splitlines() if isinstance(masks, str) else masks
        rules = []
        for line in lines:
            if isinstance(line, Mask):
                rules.append(line)
            elif text := line.partition("#")[0].strip():
                rules.append(Mask.parse(text))
        if not rules:
            return cls((), b"")
        return cls(tuple(rules)) if key is None else cls(tuple(rules), key)

    def for_topic(self, topic: str) -> "Masks":
        """Return the rules that fit a topic."""
        return Masks(tuple(r for r in self.rules if fnmatchcase(topic, r.topic)), self.key)

    def require_topics(self, topics: Iterable[str]) -> None:
        """Refuse rules about topics that are not there: a misspelled one would hide nothing.

        Args:
            topics: names of all topics; if there is none, nothing can leave.

        Raises:
            SchemaError: a rule fits none of them.
        """
        known = sorted(set(topics))
        for rule in self.rules:
            if known and not any(fnmatchcase(topic, rule.topic) for topic in known):
                raise SchemaError(
                    f"mask {rule.topic} {rule.path}: unknown topic {rule.topic}"
                    f"{did_you_mean(rule.topic, known)}"
                )

    def require_fields(self, name: str, kind: pa.DataType) -> None:
        """Refuse rules about fields of a column that has none: they would hide all of it.

        Args:
            name: the column.
            kind: its type, decoded or not.

        Raises:
            SchemaError: a rule names a field, no other masks the column as a whole, and values are
                bytes, text or numbers.
        """
        mine = [rule for rule in self.rules if rule.path.split(".")[0] == name]
        if pa.types.is_nested(kind) or pa.types.is_null(kind) or any(r.path == name for r in mine):
            return
        for rule in mine:
            is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            are = "bytes" if is_bytes(kind) else "text" if is_text else str(kind)
            decoding = f"--{name}-format json, in Python decode={{{name!r}: 'json'}}"
            raise SchemaError(
                f"mask {rule.topic} {rule.path}: {name}s are {are}, which has no fields (expected "
                f"a format that has: {decoding}; or "
                f"the rule {rule.topic} {name} drop, which masks them as a whole)"
            )

    def touches(self, column: str) -> bool:
        """Return whether a rule is about a column."""
        return any(rule.path.split(".")[0] == column for rule in self.rules)

    def masked(self, name: str, array: pa.Array) -> pa.Array:
        """Return a column with every rule about it applied.

        Args:
            name: the column.
            array: its values, decoded or not.

        Raises:
            SchemaError: the type has no field that a rule names.
        """
        for rule in self.rules:
            column, *path = rule.path.split(".")
            if column == name:
                array = self._at(rule, array, path)
        return array

    def kind(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Return the type that a column of some type has when it is masked.

        Raises:
            SchemaError: the type has no field that a rule names.
        """
        return self.masked(name, pa.nulls(0, kind)).type

    def __call__(self, column: str, data: bytes) -> bytes:
        """Return what a widget may show of a key, a value or a header: its ``mask`` argument.

        Which topic and field the bytes are of is not known here, so rules of every topic count, and
        a rule about a field drops the value. Metadata is dropped unless a rule says how to show it.

        Args:
            column: ``key``, ``value``, ``header`` or ``metadata``.
            data: the bytes.
        """
        if column == "metadata" and not self.touches(column):
            return DROPPED
        name = "headers" if column == "header" else column
        for rule in self.rules:
            first, *path = rule.path.split(".")
            if first != name:
                continue
            is_whole = not path or name == "headers"
            how = rule.how if is_whole else "drop"
            if how == "drop":
                return DROPPED
            data = data[: rule.keep] if how == "first" else self._digest(data).hex().encode()
        return data

    def _digest(self, data: bytes) -> bytes:
        return hmac.new(self.key, data, hashlib.sha256).digest()[:_DIGEST]

    def _at(self, rule: Mask, array: Any, path: list[str]) -> Any:
        kind = array.type
        if not path:
            return self._leaf(rule, array)
        mask = array.is_null() if array.null_count else None
        if _is_headers(kind):
            return self._headers(rule, array, ".".join(path))
        if pa.types.is_struct(kind):
            if path[0] not in kind.names:
                raise SchemaError(f"mask {rule.path}: there is no field {path[0]} in {rule.topic}")
            arrays = dict(zip(kind.names, array.flatten(), strict=True))
            arrays[path[0]] = self._at(rule, arrays[path[0]], path[1:])
            return pa.StructArray.from_arrays(list(arrays.values()), names=list(arrays), mask=mask)
        if pa.types.is_list(kind):
            offsets, items = items_of(array)
            return pa.ListArray.from_arrays(offsets, self._at(rule, items, path), mask=mask)
        # Text, bytes, numbers and maps: nothing in them can be named.
        return pa.nulls(len(array), kind)

    def _leaf(self, rule: Mask, array: Any) -> Any:
        kind = array.type
        if rule.how == "drop" and _is_headers(kind):
            return pa.array([[]] * len(array), kind)
        if rule.how == "drop":
            return pa.nulls(len(array), kind)
        if _is_headers(kind):
            return self._headers(rule, array, None)
        if not is_bytes(kind):
            array = plain_texts(array)
        if rule.how == "first":
            if is_bytes(array.type):
                whole = array.cast(pa.large_binary())
                return pa.array(
                    [None if each is None else each[: rule.keep] for each in whole.to_pylist()],
                    pa.large_binary(),
                )
            return pc.utf8_slice_codeunits(array, 0, rule.keep)
        return self._hashed(array)

    def _hashed(self, array: Any) -> Any:
        known: dict[Any, Any] = {}
        found = []
        in_bytes = is_bytes(array.type)
        for value in array.to_pylist():
            if value is not None and value not in known:
                data = value if in_bytes else value.encode()
                digest = self._digest(data)
                known[value] = digest if in_bytes else digest.hex()
            found.append(None if value is None else known[value])
        return pa.array(found, pa.large_binary() if in_bytes else pa.large_string())

    def _headers(self, rule: Mask, array: Any, name: str | None) -> Any:
        """Return headers with the values of one name, or of all, masked."""
        offsets, items = items_of(array)
        keys, values = items.flatten()
        masked = self._leaf(rule, values).cast(values.type)
        if name is not None:
            masked = pc.if_else(pc.equal(keys, name), masked, values)
        pairs = pa.StructArray.from_arrays([keys, masked], fields=list(array.type.value_type))
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(offsets, pairs, type=array.type, mask=mask)


AnyMasks: TypeAlias = Masks | Iterable[Mask | str] | str | os.PathLike[str] | None
"""`Masks`, rules, their lines, or the path of a file of lines."""


def _is_headers(kind: Any) -> bool:
    """Return whether a type is that of the column of headers, in a scan or in Spark."""
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    return kind.value_type.names == ["key", "value"] and is_bytes(kind.value_type["value"].type)
