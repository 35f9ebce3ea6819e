"""What is printed of directories with hostile names holds no escapes of a terminal."""

from pathlib import Path

import workbench as wb
from tests.naive import Record, batch

NAME = "a\x1b[31m\nb\u202e"


def test_findings_and_every_repr_escape_what_is_not_visible(tmp_path: Path) -> None:
    folder = tmp_path / NAME / "orders-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(batch([Record(0)]) + b"\1" * 70)
    (folder / "odd\x1b]0;x\x07").write_bytes(b"")
    logs = wb.open_log_directory(tmp_path / NAME)
    partition = logs["orders-0"]
    findings = logs.verify(info=True)
    assert findings
    texts = [str(each) for each in findings]
    texts += map(repr, (logs, partition, partition.segments[0], logs.scan(), findings))
    texts += [repr(entry) for entry in partition.files]
    for text in texts:
        assert text.isprintable(), text
    assert any(r"\x1b[31m\nb\u202e" in text for text in texts)
