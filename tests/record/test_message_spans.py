"""Every byte of a message has one name, and no bytes raise."""

import random
from typing import Any

import pytest

from tests.record.declared import declare, field
from workbench.record.message_schema import Field, Struct
from workbench.record.message_spans import Span, message_spans
from workbench.server.protocol.api_keys import API_KEYS

MOST = 5000
APIS = sorted(API_KEYS.values(), key=lambda api: api.key)


def some_value(of: Field, rng: random.Random) -> Any:
    """Return a value of a field that differs from its default."""
    if of.is_array:
        return [some_element(of, rng) for _ in range(rng.randint(1, 3))]
    if of.is_nullable and rng.random() < 0.3:
        return None
    return some_element(of, rng)


def some_element(of: Field, rng: random.Random) -> Any:
    kind = of.type
    if isinstance(kind, Struct):
        return some_values(kind, rng)
    texts = {
        "string": "text",
        "bytes": b"bytes",
        "records": b"batch",
        "uuid": "AAAAAAAAAAAAAAAAAAAAAQ",
        "bool": True,
    }
    return texts.get(kind, 7)


def some_values(of: Struct, rng: random.Random) -> dict[str, Any]:
    return {each.name: some_value(each, rng) for each in of.fields}


def leaves(spans: list[Span]) -> list[Span]:
    """Return the spans that hold no other."""
    return [
        span
        for at, span in enumerate(spans)
        if at + 1 == len(spans) or len(spans[at + 1].path) <= len(span.path)
    ]


def value_at(values: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        values = values[part]
    return values


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_spans_have_the_values_that_are_read(api: Any) -> None:
    rng = random.Random(api.key)
    for message in (api.request, api.response):
        for version in range(api.lowest, api.highest + 1):
            data = message.encode(some_values(message.struct(version), rng), version)
            values, end = message.decode(data, version)
            spans, reached = message_spans(message, data, version, most=MOST)
            assert reached == end == len(data)
            assert len({span.path for span in spans}) == len(spans)
            for span in spans:
                if not {"length", "taggedFields"} & {*span.path} and span.value is not None:
                    assert span.value == value_at(values, span.path)
            at = 0
            for span in leaves(spans):
                if "taggedFields" not in span.path:  # which hold tags and sizes beside fields
                    assert span.start >= at
                    at = span.end


def test_without_tagged_fields_every_byte_has_one_name() -> None:
    message = API_KEYS[1].request
    data = message.encode(some_values(message.struct(11), random.Random(1)), 11)
    spans, _ = message_spans(message, data, 11, most=MOST)
    at = 0
    for span in leaves(spans):
        assert span.start == at
        at = span.end
    assert at == len(data)


def test_bytes_that_end_early_are_named_up_to_their_end() -> None:
    message = API_KEYS[1].response
    data = message.encode(some_values(message.struct(12), random.Random(2)), 12)
    for size in range(len(data)):
        spans, end = message_spans(message, data[:size], 12, most=MOST)
        assert end == size
        assert all(span.start <= span.end <= size for span in spans)
    spans, _ = message_spans(message, data[:-20], 12, most=MOST)
    assert any("continues" in span.note for span in spans)


def test_random_bytes_never_raise() -> None:
    rng = random.Random(3)
    for api in APIS:
        for message in (api.request, api.response):
            data = rng.randbytes(200)
            spans, end = message_spans(message, data, api.highest, most=50)
            assert 0 <= end <= len(data)
            assert len(spans) <= 51


def test_spans_are_no_more_than_were_asked_for() -> None:
    message = declare(field("Numbers", "[]int8"))
    data = message.encode({"numbers": list(range(100))}, 0)
    spans, end = message_spans(message, data, 0, most=10)
    assert len(spans) == 11
    assert spans[-1].path == ("…",)
    assert spans[-1].end == end == len(data)
