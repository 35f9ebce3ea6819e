"""Which partition a group belongs to: Java's hash, and how many partitions there are."""

import pytest

from workbench.coordinator.runtime.partitioning import java_hash, partition_count, partition_for

CHECKED = [
    ("", 0, 0),
    ("a", 97, 47),
    ("test", 3556498, 48),
    ("foo", 101574, 24),
    ("my-group", -1906497762, 12),
    ("console-consumer-12345", 158455506, 6),
    ("héllo", 103094734, 34),
    ("组", 32452, 2),
    ("😀", 1772899, 49),
    ("polygenelubricants", -2147483648, 0),
    ("transactional-id", 510590431, 31),
]


@pytest.mark.parametrize(("name", "value", "partition"), CHECKED)
def test_the_hash_is_that_of_java(name: str, value: int, partition: int) -> None:
    """Values of Java's `String.hashCode`; surrogate pairs count as two units."""
    assert java_hash(name) == value
    assert partition_for(name, 50) == partition


def test_a_lone_surrogate_has_a_hash() -> None:
    assert java_hash("\ud83d") == 0xD83D


def test_a_topic_has_a_partition() -> None:
    with pytest.raises(ValueError, match="1 or more partitions, not 0"):
        partition_for("a", 0)


def test_the_count_is_what_the_metadata_say() -> None:
    assert partition_count({0: ["a"]}, [0], stored=7) == 7


def test_the_count_is_the_one_under_which_the_names_fit() -> None:
    names: dict[int, list[str]] = {0: [], 1: [], 2: []}
    for n in range(9):
        names[partition_for(f"g{n}", 3)].append(f"g{n}")
    assert partition_count(names, [0, 1, 2]) == 3
    # Without the first partition the folders are no row from 0 on: 50, or nothing.
    assert partition_count({1: names[1]}, [1, 2]) is None
    assert partition_count({12: ["my-group"]}, [12]) == 50


def test_names_that_fit_both_counts_do_not_prove_that_all_partitions_are_here() -> None:
    """The first partition alone of a topic with 50 holds only names that would fit one, too."""
    assert partition_count({0: ["", "polygenelubricants"]}, [0]) == 50
    assert partition_count({0: ["", "test", "foo"]}, [0]) == 1


def test_without_names_nothing_tells_the_count() -> None:
    assert partition_count({}, [0]) is None
    assert partition_count({}, []) is None
