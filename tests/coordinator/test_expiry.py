"""When committed offsets expire, by the rules before and since KIP-211."""

from pathlib import Path
from typing import Any

import pytest

from tests.coordinator.writing import TIME, CoordinatorLog, commit, group, member, record
from workbench.coordinator.groups import expiry
from workbench.coordinator.groups.stored_groups import CommittedOffset
from workbench.coordinator.runtime.era import CoordinatorEra, era_of

DAY = 86_400_000
NEW = [CoordinatorEra.CLASSIC, CoordinatorEra.KIP_848]


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


def _offsets(
    log: CoordinatorLog, era: CoordinatorEra, **options: Any
) -> dict[str, CommittedOffset]:
    coordinator = log.coordinator(era=era, **options)
    return {str(each.where): each for each in coordinator.offsets() if each.producer_id is None}


@pytest.mark.parametrize("era", NEW)
def test_a_simple_groups_offsets_expire_after_the_commit(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-36: commit time and retention, exactly; a millisecond before, the offset is there."""
    log.append(commit("g", "foo", 0, 1))
    (found,) = _offsets(log, era).values()
    assert found.expiry == (TIME + 7 * DAY, expiry.SINCE_COMMIT)
    assert _offsets(log, era, now=TIME + 7 * DAY - 1)["foo-0"].unserved is None
    gone = _offsets(log, era, now=TIME + 7 * DAY)["foo-0"]
    assert gone.unserved == f"expired: {expiry.SINCE_COMMIT}"


@pytest.mark.parametrize("era", NEW)
def test_an_empty_groups_offsets_expire_after_it_became_empty(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-35, GC-8: and after the commit where the record does not say when."""
    log.append(commit("g", "foo", 0, 1, commitTimestamp=TIME - DAY))
    log.append(group("g", currentStateTimestamp=TIME))
    (found,) = _offsets(log, era, retention_ms=1000).values()
    assert found.expiry == (TIME + 1000, expiry.SINCE_EMPTY)
    log.append(group("g", 1))
    (found,) = _offsets(log, era, retention_ms=1000).values()
    assert found.expiry == (TIME - DAY + 1000, expiry.SINCE_COMMIT)


@pytest.mark.parametrize(("kafka", "at"), [("2.2", 0), ("2.3", DAY), ("2.5", DAY), ("2.6", 0)])
def test_versions_from_2_3_to_2_5_do_not_load_when_a_group_became_empty(
    log: CoordinatorLog, kafka: str, at: int
) -> None:
    """As a real 2.3.1 did after a restart, and a real 4.4.0 did not; 2.6.3 reads it again."""
    log.append(commit("g", "foo", 0, 1, commitTimestamp=TIME - DAY))
    log.append(group("g", currentStateTimestamp=TIME))
    (found,) = _offsets(log, era_of(kafka), retention_ms=1000).values()
    assert found.expiry is not None
    assert found.expiry.at == TIME - at + 1000
    log.append(group("g", 2, currentStateTimestamp=TIME))
    (found,) = _offsets(log, era_of(kafka), retention_ms=1000).values()
    assert found.expiry == (TIME + 1000, expiry.SINCE_EMPTY)


@pytest.mark.parametrize("era", NEW)
def test_a_subscribed_topics_offsets_do_not_expire(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-37, GO-60."""
    log.append(commit("g", "foo", 0, 1), commit("g", "bar", 0, 2))
    log.append(group("g", protocol="range", members=[member("m", "foo")]))
    found = _offsets(log, era, retention_ms=1000, now=TIME + DAY)
    assert found["foo-0"].expiry == (None, expiry.SUBSCRIBED)
    assert found["foo-0"].unserved is None
    assert found["bar-0"].expiry == (TIME + 1000, expiry.UNSUBSCRIBED)
    assert found["bar-0"].unserved is not None


@pytest.mark.parametrize("era", NEW)
def test_nothing_of_a_group_of_another_type_expires_while_it_has_members(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """Not even what has its own expire time; nor where a subscription cannot be read."""
    worker = {**member("m"), "subscription": b"\x00"}
    log.append(commit("c", "foo", 0, 1, 1, expireTimestamp=TIME + 1))
    log.append(group("c", protocolType="connect", members=[worker]))
    assert _offsets(log, era)["foo-0"].expiry == (None, expiry.NOT_EMPTY)
    log.append(commit("g", "bar", 0, 1), group("g", members=[worker]))
    assert _offsets(log, era)["bar-0"].expiry == (None, expiry.UNREADABLE)


@pytest.mark.parametrize("era", NEW)
def test_the_commits_own_expire_time_counts_for_an_empty_group(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-32, GO-53."""
    log.append(commit("g", "foo", 0, 1, 1, expireTimestamp=TIME + 1234), group("g"))
    assert _offsets(log, era)["foo-0"].expiry == (TIME + 1234, expiry.EXPLICIT)


@pytest.mark.parametrize("era", NEW)
def test_a_pending_commit_keeps_the_offset(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-61."""
    log.append(commit("g", "foo", 0, 1))
    log.append(commit("g", "foo", 0, 2), producer=1000)
    found = _offsets(log, era, now=TIME + 30 * DAY)["foo-0"]
    assert (found.expiry, found.unserved) == ((None, expiry.PENDING), None)


def test_up_to_2_0_each_commit_has_its_time(log: CoordinatorLog) -> None:
    """GO-20: version 1 carries it, version 0 gets a day; the group does not matter."""
    log.append(commit("g", "foo", 0, 1, 0), commit("g", "bar", 0, 2, 1, expireTimestamp=TIME + 5))
    log.append(group("g", 1, members=[member("m", "foo", "bar")]))
    found = _offsets(log, CoordinatorEra.BEFORE_2_1, now=TIME + 5)
    assert found["foo-0"].expiry == (TIME + DAY, expiry.SINCE_COMMIT)
    assert found["bar-0"].expiry == (TIME + 5, expiry.EXPLICIT)
    assert found["bar-0"].unserved is None  # strictly later
    assert _offsets(log, CoordinatorEra.BEFORE_2_1, now=TIME + 6)["bar-0"].unserved is not None


def test_a_consumer_groups_offsets_expire_where_nobody_subscribes(log: CoordinatorLog) -> None:
    key = {"groupId": "m", "memberId": "a"}
    fields = {
        "instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h",
        "subscribedTopicNames": ["foo"], "subscribedTopicRegex": None, "serverAssignor": None,
    }  # fmt: skip
    log.append(record(3, {"groupId": "m"}, {"epoch": 1}), record(5, key, fields))
    log.append(commit("m", "foo", 0, 1), commit("m", "bar", 0, 2))
    found = _offsets(log, CoordinatorEra.KIP_848, retention_ms=10)
    assert found["foo-0"].expiry == (None, expiry.SUBSCRIBED)
    assert found["bar-0"].expiry == (TIME + 10, expiry.UNSUBSCRIBED)
