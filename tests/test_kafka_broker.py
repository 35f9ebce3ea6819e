"""The broker tool: a real broker starts, dies, comes back, and Java programs talk to it."""

import socket
from pathlib import Path

import pytest

from tests.kafka_broker import (
    Broker,
    compile_java,
    dump_log_segments,
    java_command,
    parse_version,
    run_java,
)

PROGRAM = """
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

public class Hello {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        String bytes = "org.apache.kafka.common.serialization.StringSerializer";
        properties.put("key.serializer", bytes);
        properties.put("value.serializer", bytes);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            String word = "old";  //@ ..4.0
            String word = "new";  //@ 4.0..
            ProducerRecord<String, String> record = new ProducerRecord<>("hello", word);
            System.out.println(word + " " + producer.send(record).get().offset());
        }
    }
}
"""


def test_versions_compare_by_their_numbers() -> None:
    assert parse_version("0.9.0.1") < parse_version("0.10.0.1") < parse_version("3.3")


@pytest.mark.broker
@pytest.mark.parametrize(
    ("version", "word"), [("4.2.0", "new"), pytest.param("2.8.2", "old", marks=pytest.mark.long)]
)
def test_records_survive_a_crash_of_the_broker(tmp_path: Path, version: str, word: str) -> None:
    broker = Broker(version, tmp_path, {"auto.create.topics.enable": "true"})
    classes = compile_java(version, PROGRAM, "Hello")
    broker.start()
    first = run_java(version, "Hello", broker.bootstrap, classes=classes)
    broker.kill()
    assert first.stdout.strip() == f"{word} 0", first.stderr
    with broker:
        second = run_java(version, "Hello", broker.bootstrap, classes=classes)
    assert second.stdout.strip() == f"{word} 1", second.stderr
    host, port = broker.bootstrap.split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), 1)
    log = broker.data / "hello-0" / "00000000000000000000.log"
    assert f"payload: {word}" in dump_log_segments(version, [log], "--print-data-log")


@pytest.mark.broker
def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broker = Broker("4.2.0", tmp_path, {"num.io.threads": "none"})
    with pytest.raises(RuntimeError, match=r"num\.io\.threads"):
        broker.start()


@pytest.mark.broker
def test_a_program_that_does_not_compile_is_refused_with_javac_s_words() -> None:
    with pytest.raises(RuntimeError, match="class Wrong"):
        compile_java("4.2.0", "public class Wrong { int x = ; }", "Wrong")
    assert java_command("4.2.0", "Wrong")[0] == "java"
