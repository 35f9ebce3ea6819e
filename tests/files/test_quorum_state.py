from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptCheckpointError, UnsupportedFormatError
from workbench.files.quorum_state import QuorumState

VERSION_0 = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)
VERSION_1 = (
    b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,'
    b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)

IDS = st.none() | st.integers(0, 2**31 - 1)
STATES = st.builds(
    QuorumState,
    leader_id=IDS,
    leader_epoch=st.integers(0, 2**31 - 1),
    voted_id=IDS,
    voted_directory_id=st.none() | st.uuids().filter(lambda uuid: uuid.int),
) | st.builds(
    QuorumState,
    leader_id=IDS,
    leader_epoch=st.integers(0, 2**31 - 1),
    voted_id=IDS,
    cluster_id=st.text(max_size=22),
    applied_offset=st.integers(0, 2**63 - 1),
    current_voters=st.none() | st.lists(st.integers(0, 9)).map(tuple),
    version=st.just(0),
)


def test_version_0_names_the_voters() -> None:
    found = QuorumState.decode(VERSION_0)
    assert found == QuorumState(
        leader_id=1, leader_epoch=2, voted_id=None, cluster_id="", applied_offset=0,
        current_voters=(1,), version=0,
    )  # fmt: skip
    assert found.encode() == VERSION_0


def test_version_1_names_the_directory_voted_for() -> None:
    found = QuorumState.decode(VERSION_1)
    assert found == QuorumState(leader_id=1, leader_epoch=2, voted_id=None)
    assert found.encode() == VERSION_1
    voted = VERSION_1.replace(b"-1", b"3").replace(b'AA"', b'AQ"')
    assert QuorumState.decode(voted).voted_directory_id == UUID(int=1)


@given(STATES)
def test_states_round_trip(state: QuorumState) -> None:
    assert QuorumState.decode(state.encode()) == state


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "malformed"),
        (b"garbage", "malformed"),
        (VERSION_1.replace(b"leaderEpoch", b"epoch"), "missing"),
        (VERSION_1.replace(b"data_version", b"version"), "missing"),
        (VERSION_1.replace(b"votedDirectoryId", b"directory"), "missing"),
        (VERSION_1.replace(b"-1", b'"-1"'), "bad value"),
        (VERSION_1.replace(b"-1", b"true"), "bad value"),
        (VERSION_1.replace(b'AA"', b'"'), "bad value"),
        (VERSION_0.replace(b"[{", b"{").replace(b"}]", b"}"), "bad value"),
        (VERSION_0.replace(b'{"voterId":1}', b"1"), "bad value"),
        (VERSION_0.replace(b"voterId", b"voter"), "missing"),
        (VERSION_0.replace(b'""', b"7"), "bad value"),
    ],
)
def test_an_unsound_file_is_corrupt(data: bytes, kind: str) -> None:
    with pytest.raises(CorruptCheckpointError, match=kind):
        QuorumState.decode(data)
    assert kind in {problem.kind for problem in QuorumState.decode(data, strict=False).problems}


@pytest.mark.parametrize("version", [b"2", b"-1"])
def test_another_version_is_not_known(version: bytes) -> None:
    with pytest.raises(UnsupportedFormatError):
        QuorumState.decode(VERSION_1.replace(b":1}", b":" + version + b"}"))


def test_every_cut_is_an_error() -> None:
    for sound in (VERSION_0, VERSION_1):
        for data in corrupt.every_cut(sound):
            with pytest.raises(CorruptCheckpointError):
                QuorumState.decode(data)
            QuorumState.decode(data, strict=False)


def test_every_flipped_bit_gives_a_value_or_the_right_error() -> None:
    for sound in (VERSION_0, VERSION_1):
        for _, data in corrupt.every_flip(sound):
            if QuorumState.decode(data, strict=False).problems:
                with pytest.raises((CorruptCheckpointError, UnsupportedFormatError)):
                    QuorumState.decode(data)
