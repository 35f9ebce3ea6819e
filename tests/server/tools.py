"""Kafka's console tools, several in one JVM, at a server of ours or a broker."""

from pathlib import Path

from tests.kafka_broker import compile_java, run_java

SOURCE = Path(__file__).with_name("Tools.java").read_text()
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def run_tools(version: str, *commands: tuple[str, tuple[str, ...]]) -> list[list[str]]:
    """Run tools and return the lines of each.

    Args:
        version: Kafka's.
        commands: for each where the server is, and the tool's class with its arguments.
    """
    words: list[str] = []
    for where, (tool, *arguments) in commands:
        words += ["//", tool, "--bootstrap-server", where, *arguments]
    classes = compile_java(version, SOURCE, "Tools")
    done = run_java(version, "Tools", *words[1:], classes=classes)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[str]] = [[]]
    for line in done.stdout.splitlines():
        if line.startswith("// "):
            assert line == "// 0", (line, commands[len(found) - 1], found[-1][-9:])
            found.append([])
        elif line.strip():
            found[-1].append(line)
    assert len(found) == len(commands) + 1
    return found[:-1]
