"""`verify` beside a real broker: while it runs, and for a claim that no golden case shows."""

from pathlib import Path

import pytest

from tests.kafka_broker import Broker, compile_java, run_java
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import worst
from workbench.inspection.listing import list_log_directories
from workbench.inspection.verify.segments.log_pass import read_log
from workbench.inspection.verify.shutdown_state import shutdown_state_of
from workbench.inspection.verify.verify import verify

VERSION = "4.2.0"
PROGRAM = """
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

public class Send {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        String text = "org.apache.kafka.common.serialization.StringSerializer";
        properties.put("key.serializer", text);
        properties.put("value.serializer", text);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            System.out.println(producer.send(new ProducerRecord<>("hello", "word")).get().offset());
        }
    }
}
"""


@pytest.mark.broker
def test_bytes_that_a_broker_leaves_behind_the_last_batch_bury_the_next_one(tmp_path: Path) -> None:
    broker = Broker(VERSION, tmp_path, {"auto.create.topics.enable": "true"})
    classes = compile_java(VERSION, PROGRAM, "Send")
    with broker:
        assert run_java(VERSION, "Send", broker.bootstrap, classes=classes).stdout == "0\n"
        root = list_log_directories(broker.data).roots[0]
        assert shutdown_state_of(root).stop == "running"
        assert worst(verify(broker.data)) in {None, "info"}
    assert [f for f in verify(broker.data) if f.severity != "info"] == []
    log = broker.data / "hello-0" / "00000000000000000000.log"
    whole = log.read_bytes()
    log.write_bytes(whole + bytes(11))
    (found,) = [f for f in verify(broker.data) if f.path == str(log)]
    assert found.kind == "zero-tail"
    assert "writes the next batch after them, where no reader reaches it" in found.broker
    with broker:
        assert run_java(VERSION, "Send", broker.bootstrap, classes=classes).stdout == "1\n"
    reading = read_log(FileEntry(log.name, str(log)), 0)
    assert log.read_bytes().startswith(whole + bytes(11))
    # A rescue gets there; a reader that follows the sizes does not.
    assert [shown.problem.position for shown in reading.left_out] == [len(whole)]
    assert (reading.batch_count, reading.next_offset) == (2, 2)
