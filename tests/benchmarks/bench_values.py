"""Avro of ten flat fields and of nested ones: our columns against fastavro's reader loop.

Run as `python -m tests.benchmarks.bench_values`.
"""

import io
import time
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa

from tests.values.avro_values import written
from workbench.values.avro.decoder import AvroDecoder
from workbench.values.column import WholeValues

_KINDS = ["long", "int", "double", "string", "boolean", "float", "long", "string", ["null", "long"]]
FLAT: Any = {
    "type": "record",
    "name": "Flat",
    "fields": [
        *({"name": f"f{at}", "type": kind} for at, kind in enumerate(_KINDS)),
        {"name": "f9", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
    ],
}
NESTED: Any = {
    "type": "record",
    "name": "Nested",
    "fields": [
        {"name": "flat", "type": FLAT},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line",
            "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}]}}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
    ],
}  # fmt: skip
COUNT = 100_000
TIMES = 5


def flat(at: int) -> dict[str, Any]:
    return {"f0": at, "f1": at % 1000, "f2": at / 2, "f3": f"order-{at}", "f4": at % 2 == 0,
            "f5": 1.5, "f6": 1_700_000_000_000 + at, "f7": "x" * 12, "f8": None if at % 3 else at,
            "f9": "PAID"}  # fmt: skip


def nested(at: int) -> dict[str, Any]:
    lines = [{"sku": f"TEA-{n}", "count": n} for n in range(at % 4)]
    return {"flat": flat(at), "lines": lines, "tags": {"a": "x", "b": "y"}}


def best(function: Callable[[], Any]) -> float:
    """Return the least time of some runs, in seconds."""
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    print(f"{COUNT:,} values, best of {TIMES}; records/s")
    for schema, value in ((FLAT, flat), (NESTED, nested)):
        parsed = fastavro.parse_schema(schema)
        values = [written(parsed, value(at)) for at in range(COUNT)]
        column = pa.array(values, pa.large_binary())
        decoder = WholeValues(AvroDecoder(schema))
        decoder.decode(column, {})

        def loop(values: list[bytes] = values, parsed: Any = parsed) -> list[Any]:
            return [fastavro.schemaless_reader(io.BytesIO(v), parsed, None) for v in values]

        def ours(decoder: WholeValues = decoder, column: pa.Array = column) -> pa.Array:
            return decoder.decode(column, {}).values

        columns_s, loop_s = best(ours), best(loop)
        print(
            f"{schema['name']:8} columns {COUNT / columns_s:12,.0f}   fastavro's loop "
            f"{COUNT / loop_s:10,.0f}   {loop_s / columns_s:.1f} times as fast"
        )


if __name__ == "__main__":
    main()
