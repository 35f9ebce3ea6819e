"""Delivery states are merged as Kafka's own class merges them."""

from pathlib import Path
from random import Random

from tests.kafka_broker import compile_java, run_java
from workbench.coordinator.groups.share_state import merged

_VERSION = "4.2.0"
_SOURCE = """
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.coordinator.share.PersisterStateBatchCombiner;
import org.apache.kafka.server.share.persister.PersisterStateBatch;

public class Combine {
    static List<PersisterStateBatch> batches(String text) {
        List<PersisterStateBatch> found = new ArrayList<>();
        for (String each : text.split(" ")) {
            if (each.isEmpty()) continue;
            String[] n = each.split(",");
            found.add(new PersisterStateBatch(Long.parseLong(n[0]), Long.parseLong(n[1]),
                Byte.parseByte(n[3]), Short.parseShort(n[2])));
        }
        return found;
    }

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split(";", -1);
            List<String> shown = new ArrayList<>();
            PersisterStateBatchCombiner combiner = new PersisterStateBatchCombiner(
                batches(parts[1]), batches(parts[2]), Long.parseLong(parts[0]));
            for (PersisterStateBatch each : combiner.combineStateBatches())
                shown.add(each.firstOffset() + "," + each.lastOffset() + "," + each.deliveryCount()
                    + "," + each.deliveryState());
            System.out.println(String.join(" ", shown));
        }
    }
}
"""


def _text(ranges: list[tuple[int, int, int, int]]) -> str:
    return " ".join(",".join(map(str, each)) for each in ranges)


def _by_offset(text: str) -> dict[int, tuple[int, int]]:
    """Return offset → delivery count and state; Kafka joins only some of equal neighbors."""
    found: dict[int, tuple[int, int]] = {}
    for each in text.split():
        first, last, count, state = map(int, each.split(","))
        assert not found.keys() & set(range(first, last + 1))
        found |= dict.fromkeys(range(first, last + 1), (count, state))
    return found


def test_ranges_are_merged_as_by_kafka(tmp_path: Path) -> None:
    rng = Random(7)

    def ranges() -> list[tuple[int, int, int, int]]:
        found = []
        for _ in range(rng.randrange(5)):
            first = rng.randrange(30)
            state = rng.choice([0, 2, 4])
            found.append((first, first + rng.randrange(12), rng.randrange(1, 4), state))
        return found

    cases = [
        (rng.choice([-1, rng.randrange(30)]), merged(ranges(), -1), ranges()) for _ in range(600)
    ]
    file = tmp_path / "cases"
    file.write_text("".join(f"{s};{_text(a)};{_text(b)}\n" for s, a, b in cases))
    classes = compile_java(_VERSION, _SOURCE, "Combine")
    done = run_java(_VERSION, "Combine", str(file), classes=classes)
    assert done.returncode == 0, done.stderr
    theirs = done.stdout.splitlines()
    assert len(theirs) == len(cases)
    for (start, known, new), line in zip(cases, theirs, strict=True):
        ours = merged([*known, *new], start)
        assert _by_offset(_text(ours)) == _by_offset(line), (start, known, new)
        ends = [(each[1] + 1, *each[2:]) for each in ours]
        assert not {(each[0], *each[2:]) for each in ours} & set(ends)  # neighbors are joined
