"""Some seconds of the campaign's round beside a real broker."""

from pathlib import Path

import pytest

from tests.campaign.broker_rounds import read_beside_broker


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_who_reads_beside_a_broker_is_given_what_it_acknowledged(tmp_path: Path) -> None:
    read_beside_broker(tmp_path, seed=6, seconds=12.0)
