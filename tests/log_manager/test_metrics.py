from pathlib import Path

import pytest

from tests.log_manager.managers import Managed, records
from workbench.errors import RecordTooLargeError
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import RecordsBuilder


def test_metrics_have_kafkas_names_and_say_what_was_done(tmp_path: Path) -> None:
    topics = {"orders": {"max.message.bytes": 200, "segment.bytes": 1000}}
    managed = Managed(tmp_path, topic_configs=topics)
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        manager.get_or_create_log("users-0").append(records(3))
        assert manager.metrics()["BytesRejectedPerSec"]["Count"] == 0
        assert manager.metrics()["LogFlushRateAndTimeMs"]["Count"] == 0
        large = MemoryRecords.of((b"key", b"v" * 300))
        with pytest.raises(RecordTooLargeError):
            log.append_as_leader(large)
        for _ in range(9):
            log.append(records(5))
        log.flush()
        found = manager.metrics()
        assert found["BytesRejectedPerSec"]["Count"] == large.size
        assert found["BytesRejectedPerSec,topic=orders"]["Count"] == large.size
        assert "BytesRejectedPerSec,topic=users" not in found
        assert found["BytesRejectedPerSec"]["MeanRate"] > 0
        flushes = found["LogFlushRateAndTimeMs"]
        assert flushes["Count"] >= found["NumLogSegments,topic=orders,partition=0"] > 1
        assert 0 < flushes["Min"] <= flushes["Mean"] <= flushes["Max"]
        assert found["LogEndOffset,topic=orders,partition=0"] == 45
        assert found["LogStartOffset,topic=users,partition=0"] == 0
        assert found["Size,topic=orders,partition=0"] == log.size
        assert found["OfflineLogDirectoryCount"] == 0
        assert found["LogDirectoryOffline"] == {str(tmp_path): 0}
        assert found["cleaner-recopy-percent"] == 0


def test_a_batch_that_becomes_too_large_in_the_topics_codec_is_counted(tmp_path: Path) -> None:
    topics = {"orders": {"max.message.bytes": 500, "compression.type": "uncompressed"}}
    with Managed(tmp_path, topic_configs=topics).manager as manager:
        builder = RecordsBuilder(codec="gzip")
        builder.append(1_700_000_000_000, b"key", b"v" * 2000)
        sent = builder.build()
        assert sent.size < 500
        with pytest.raises(RecordTooLargeError, match="codec"):
            manager.get_or_create_log("orders-0").append_as_leader(sent)
        assert manager.metrics()["BytesRejectedPerSec,topic=orders"]["Count"] == sent.size


def test_without_a_cleaner_there_are_no_numbers_of_one(tmp_path: Path) -> None:
    with Managed(tmp_path, config={"log.cleaner.enable": False}).manager as manager:
        assert "cleaner-recopy-percent" not in manager.metrics()
        assert "LogFlushRateAndTimeMs" in manager.metrics()
