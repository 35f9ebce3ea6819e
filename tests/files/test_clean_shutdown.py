import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptCheckpointError
from workbench.files.clean_shutdown import CleanShutdown

KAFKA_4_2 = b'{"version":0,"brokerEpoch":798}'


def test_up_to_3_6_the_file_is_empty() -> None:
    assert CleanShutdown.decode(b"") == CleanShutdown(None, None)
    assert CleanShutdown().encode() == b""


def test_since_3_7_it_holds_the_broker_s_epoch() -> None:
    """CK-4."""
    assert CleanShutdown.decode(KAFKA_4_2) == CleanShutdown(798, 0)
    assert CleanShutdown(798, 0).encode() == KAFKA_4_2


@given(st.none() | st.integers(0, 2**63 - 1))
def test_broker_epochs_round_trip(broker_epoch: int | None) -> None:
    """CK-4."""
    written = CleanShutdown(broker_epoch, 0)
    assert CleanShutdown.decode(written.encode()) == written


def test_fields_that_are_not_known_are_left_alone() -> None:
    """CK-4."""
    assert CleanShutdown.decode(b'{"version":0,"brokerEpoch":10,"foo":"bar"}').broker_epoch == 10


@pytest.mark.parametrize(
    "data", [b"garbage", b"{}", b'{"version":0}', b'{"version":0,"brokerEpoch":"x"}', b"[]"]
)
def test_without_an_epoch_the_file_is_unsound_and_there_is_none(data: bytes) -> None:
    """CK-4."""
    with pytest.raises(CorruptCheckpointError):
        CleanShutdown.decode(data)
    found = CleanShutdown.decode(data, strict=False)
    assert found.broker_epoch is None
    assert found.problems


def test_every_cut_is_an_error_but_the_empty_one() -> None:
    for data in corrupt.every_cut(KAFKA_4_2):
        assert bool(CleanShutdown.decode(data, strict=False).problems) == bool(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_the_right_error(data: bytes) -> None:
    if CleanShutdown.decode(data, strict=False).problems:
        with pytest.raises(CorruptCheckpointError):
            CleanShutdown.decode(data)
