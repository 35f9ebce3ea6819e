import pickle

import pytest

from workbench import errors

EXAMPLES = [
    errors.WorkbenchError("something"),
    errors.CorruptFileError("a.log", None, "not a file of ours"),
    errors.CorruptRecordError("a.log", 12, "crc is 1, should be 2"),
    errors.CorruptIndexError(None, 8, "the last entry is cut short"),
    errors.CorruptSnapshotError("a.snapshot", 2, "wrong crc"),
    errors.CorruptCheckpointError("checkpoint", 0, "malformed"),
    errors.UnsupportedFormatError("a.log", 16, "magic is 3, known are 0 to 2"),
    errors.OffsetOutOfRangeError(5, low=7, high=9, where="orders-0"),
    errors.InvalidOffsetError("offset 4 after 5"),
    errors.OffsetOverflowError(2**40, 0),
    errors.LogDirectoryError("/data", "is locked by a broker"),
    errors.NotRegularFileError("/data/a.log", "a FIFO"),
    errors.LinkError("/data/a.log", "a link to /etc/hosts, outside of the directory"),
    errors.StorageError("/data", "the directory is offline"),
    errors.RemoteStorageError("/tier/a.rsm-manifest", "not JSON"),
    errors.OutputError("/data/new.csv", "must not be inside the input /data"),
    errors.ServerError("192.0.2.1", "other machines can reach it"),
    errors.ReplayError("192.0.2.1:9092", "there is no topic orders"),
    errors.AppendError("refused"),
    errors.RecordTooLargeError("2000 bytes, at most 1000"),
    errors.RecordBatchTooLargeError("2000 bytes, at most 1000"),
    errors.InvalidRecordError("one record is wrong", {3: "no key"}),
    errors.InvalidTimestampError("one record is wrong", {0: "too late"}),
    errors.UnsupportedForMessageFormatError("zstd in magic 1"),
    errors.OffsetsOutOfOrderError("5, 3"),
    errors.UnexpectedAppendOffsetError("5 before 8", 5, 7),
    errors.OutOfOrderSequenceError("7 after 3"),
    errors.InvalidProducerEpochError("epoch 1, known is 2"),
    errors.InvalidTransactionStateError("a transaction is open"),
    errors.CoordinatorFencedError("epoch 1, known is 2"),
    errors.InconsistentTopicIdError("another topic"),
    errors.InvalidTransitionError("Stable must not follow Empty"),
    errors.CleaningAbortedError("the log is truncated"),
    errors.CoordinatorError(16, "NOT_COORDINATOR", "__consumer_offsets-3 is not loaded"),
    errors.GroupStateError("group g: an empty group has no protocol to choose"),
    errors.ReplicationError("no broker 7: expected one of [0, 1, 2]"),
    errors.PlayerError("int: expected the steps that an observer received"),
    errors.ConfigError("retention.ns", "is not known; did you mean retention.ms?"),
    errors.SchemaError("Avro schema: unknown type Line"),
    errors.QueryError("offset:x is not an offset"),
    errors.CorruptNameError("x.log", None, "no offset"),
    errors.CorruptLogError("orders-0", None, "an offset lies before its segment"),
    errors.StateUnknownError("__cluster_metadata-0", "the state at offset 3 is not there"),
    errors.CorruptTopicIdError("partition.metadata", "no topic_id", is_short=True),
    errors.MissingDependencyError("polars", "pip install polars"),
]


def classes() -> list[type]:
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and value.__module__ == errors.__name__
        and not issubclass(value, Warning)
    ]


def test_every_error_has_an_example() -> None:
    assert {type(error) for error in EXAMPLES} == set(classes())


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_is_caught_by_the_base_and_by_a_built_in_one(error: Exception) -> None:
    assert isinstance(error, errors.WorkbenchError)
    if type(error) is not errors.WorkbenchError:
        built_in = (ValueError, LookupError, OverflowError, OSError, ImportError, RuntimeError)
        assert isinstance(error, built_in)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_whole_from_a_pickle(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_message_says_where_and_what() -> None:
    assert str(EXAMPLES[2]) == "a.log at byte 12: crc is 1, should be 2"
    assert str(EXAMPLES[1]) == "a.log: not a file of ours"
    assert str(EXAMPLES[3]) == "bytes in memory at byte 8: the last entry is cut short"
    assert str(EXAMPLES[7]) == "offset 5 is not in orders-0, which holds [7, 9)"
    assert str(EXAMPLES[10]) == "/data: is locked by a broker"


def test_the_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    for error in classes():
        assert error.__name__ in errors.__doc__
