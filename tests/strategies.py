"""Hypothesis strategies for records and for the bytes of batches and messages."""

from hypothesis import strategies as st

from tests.naive import Record, batch, message, wrapper

contents = st.none() | st.binary(max_size=40) | st.binary(min_size=120, max_size=300)
headers = st.lists(
    st.tuples(st.text(max_size=6).map(str.encode), st.none() | st.binary(max_size=20)), max_size=4
).map(tuple)
timestamps = st.integers(-1, 2**41) | st.sampled_from([-1, 0, 2**62, -(2**40)])
codecs = st.integers(0, 4)


@st.composite
def records(
    draw: st.DrawFn, *, with_headers: bool = True, first: int | None = None, least: int = 0
) -> list[Record]:
    """Up to eight records with ascending offsets, with gaps as compaction leaves them."""
    offset = draw(st.integers(0, 2**40)) if first is None else first
    found = []
    for _ in range(draw(st.integers(least, 8))):
        found.append(
            Record(
                offset,
                draw(timestamps),
                draw(contents),
                draw(contents),
                draw(headers) if with_headers else (),
            )
        )
        offset += draw(st.integers(1, 3) | st.just(100_000))
    return found


@st.composite
def batches(draw: st.DrawFn, codec: int | None = None) -> bytes:
    """One batch of magic 2, any codec, type of timestamp, producer or none."""
    fields = {}
    if draw(st.booleans()):
        fields = {
            "producer_id": draw(st.integers(0, 2**62)),
            "producer_epoch": draw(st.integers(0, 2**15 - 1)),
            "base_sequence": draw(st.integers(0, 2**31 - 1)),
        }
    fields["attributes"] = draw(st.sampled_from([0, 8, 16, 24, 64, 0x48]))
    fields["leader_epoch"] = draw(st.integers(-1, 2**31 - 1))
    chosen = draw(codecs) if codec is None else codec
    return batch(draw(records()), chosen, **fields)


@st.composite
def messages(draw: st.DrawFn, magic: int | None = None) -> bytes:
    """One plain entry of magic 0 or 1, or a wrapper with several."""
    chosen = draw(st.integers(0, 1)) if magic is None else magic
    codec = draw(st.integers(0, 3))
    if not codec:
        return message(chosen, draw(records(with_headers=False, least=1))[0])
    attributes = draw(st.sampled_from([0, 8])) if chosen else 0
    inner = draw(records(with_headers=False, least=1))
    return wrapper(chosen, inner, codec, attributes=attributes)


logs = st.lists(batches() | messages(), max_size=5).map(b"".join)
"""The bytes of a `.log` file of any mixture; offsets need not ascend from batch to batch."""
