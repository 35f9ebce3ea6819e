"""Read Avro values one at a time, by recursion: plain, and the measure of the compiled reader.

It reads schemas whose types contain themselves, and values of which a field is out of range.

Source: Apache Avro specification 1.12, Binary Encoding
"""

import base64
import json
import struct
from decimal import Decimal, localcontext
from typing import Any, Final

import pyarrow as pa

from workbench.errors import CorruptRecordError
from workbench.kernels.plain.avro import FREE_ITEMS
from workbench.layout.integers import INT64_MAX
from workbench.runtime.times import DAY
from workbench.values.avro.schema import DURATION, Node
from workbench.values.far_times import far_text
from workbench.values.fitting import FarTime, MapEntries
from workbench.values.guard import ENTRIES
from workbench.values.inference import WHOLE

_IN_MS: Final = (pa.timestamp("ms"), pa.timestamp("ms", "UTC"))
_DEEPEST: Final = 150  # types in types of a value
_MOST_DECIMAL: Final = 256  # bytes of a decimal: more take long to be written


def read_value(node: Node, data: bytes) -> Any:
    """Return a value as `fitting.Fitter` takes it for ``node.arrow``, with `special`.

    Records are dicts, times and dates numbers. A number may be more than its type holds.

    Raises:
        CorruptRecordError: the bytes are not such a value.
    """
    reader = _Reader(data)
    value = reader.value(node, 0)
    if reader.at != len(data):
        raise reader.error("bytes are left over")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.free = FREE_ITEMS + len(data)
        self.is_json = False  # inside of what becomes JSON

    def error(self, problem: str, at: int | None = None) -> CorruptRecordError:
        return CorruptRecordError(None, self.at if at is None else at, problem)

    def value(  # noqa: C901, PLR0911, PLR0912 — one case for each kind of type
        self, node: Node, depth: int
    ) -> Any:
        if depth > _DEEPEST:
            raise self.error(f"types nested more than {_DEEPEST} deep")
        match node.kind:
            case "null":
                return None
            case "boolean":
                (value,) = self.take(1)
                if value > 1:
                    raise self.error("a value is out of range", self.at - 1)
                return value == 1
            case "int" | "long":
                return self.number(node)
            case "float":
                return struct.unpack("<f", self.take(4))[0]
            case "double":
                return struct.unpack("<d", self.take(8))[0]
            case "bytes":
                most = _MOST_DECIMAL if pa.types.is_decimal(node.arrow) else 1 << 62
                return self.logical(node, self.take(self.length(most)))
            case "string":
                return self.text()
            case "fixed":
                return self.logical(node, self.take(node.size))
            case "enum":
                return node.names[self.index(len(node.names))]
            case "union":
                return self.union(node, depth)
            case "record":
                ENTRIES.take(len(node.children) + 1)
                return {
                    name: self.value(child, depth + 1)
                    for name, child in zip(node.names, node.children, strict=True)
                }
            case "array":
                return self.items(lambda: self.value(node.children[0], depth + 1))
            case "map":
                child = node.children[0]
                pairs = self.items(lambda: (self.text(), self.value(child, depth + 1)))
                return dict(pairs) if self.is_json else MapEntries(pairs)
        assert node.kind == "recursive"
        if self.is_json:
            return self.value(node.children[0], depth + 1)
        self.is_json = True
        value = self.value(node.children[0], depth + 1)
        self.is_json = False
        return json.dumps(value, ensure_ascii=False, default=_json)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.error("the value is truncated")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, node: Node) -> int | FarTime:
        found, (low, high) = self.zigzag(), bounds(node)
        if low <= found <= high or self.is_json or not pa.types.is_timestamp(node.arrow):
            return found
        return FarTime(far_text(found, node.arrow.unit, "Z" if node.arrow.tz else "", "T"))

    def zigzag(self) -> int:
        raw = shift = 0
        while True:
            if shift > 63:
                raise self.error("a value is out of range")
            (byte,) = self.take(1)
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                raw &= (1 << 64) - 1
                return (raw >> 1) ^ -(raw & 1)

    def index(self, end: int) -> int:
        before = self.at
        value = self.zigzag()
        if not 0 <= value < end:
            raise self.error("a value is out of range", before)
        return value

    def length(self, most: int) -> int:
        before = self.at
        size = self.zigzag()
        if not 0 <= size <= most:
            raise self.error("a value is out of range", before)
        if size > len(self.data) - self.at:
            raise self.error("the value is truncated", before)
        return size

    def text(self) -> str:
        try:
            return self.take(self.length(1 << 62)).decode()
        except UnicodeDecodeError:
            raise self.error("text is not UTF-8") from None

    def union(self, node: Node, depth: int) -> Any:
        branch = self.index(len(node.children))
        value = self.value(node.children[branch], depth + 1)
        if node.children[branch].kind == "null" or node.nullable_of is not None:
            return value
        return {node.names[branch]: value}

    def items(self, read: Any) -> list[Any]:
        found: list[Any] = []
        while True:
            before = self.at
            count = self.zigzag()
            if count < 0:
                count = -count
                self.zigzag_any()
            left = len(self.data) - self.at
            if count > left + self.free:
                raise self.error("more items than bytes", before)
            self.free -= max(count - left, 0)
            if not count:
                return found
            ENTRIES.take(count)
            found.extend(read() for _ in range(count))

    def zigzag_any(self) -> None:
        while self.take(1)[0] >= 0x80:
            pass

    def logical(self, node: Node, data: bytes) -> Any:
        if pa.types.is_decimal(node.arrow):
            value = exact(data, node.arrow.scale)
            return int(value) if node.arrow == WHOLE and not self.is_json else value
        if node.arrow == DURATION:
            return dict(zip(DURATION.names, struct.unpack("<III", data), strict=True))
        return data


def bounds(node: Node) -> tuple[int, int]:
    """Return the least and the largest value of an int or long."""
    if pa.types.is_time(node.arrow):
        return 0, DAY * (1000 if node.kind == "long" else 1) - 1
    if node.arrow in _IN_MS:
        return -(INT64_MAX // 1000), INT64_MAX // 1000  # no table has a time beyond us
    bits = 63 if node.kind == "long" else 31
    return -(1 << bits), (1 << bits) - 1


def most_bytes(node: Node) -> int:
    """Return the most bytes of a ``bytes``: a decimal's are as many as Arrow's type has."""
    if pa.types.is_decimal(node.arrow):
        return int(node.arrow.byte_width)
    return 1 << 62


def exact(data: bytes, scale: int) -> Decimal:
    """Return the decimal of two's complement bytes, big end first, with all its digits."""
    unscaled = int.from_bytes(data, "big", signed=True)
    with localcontext() as context:
        context.prec = 3 * _MOST_DECIMAL
        return Decimal(unscaled).scaleb(-scale)


def special(value: Any, kind: Any) -> Any:
    """Return a time, a decimal or what JSON does not have as Arrow takes it; see `Special`.

    Raises:
        ValueError: it is out of range.
    """
    if pa.types.is_time(kind):
        is_held = 0 <= value < DAY * (1000 if kind.bit_width == 64 else 1)
    else:
        is_held = not pa.types.is_decimal(kind) or fits(value, kind)
    if not is_held:
        raise ValueError(f"{value} is not {kind}")
    return value


def fits(value: Decimal, kind: Any) -> bool:
    """Return whether a decimal type has as many digits as a decimal of its scale."""
    return bool(abs(value) < Decimal(10) ** (kind.precision - kind.scale))


def _json(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
