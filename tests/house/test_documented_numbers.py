"""Numbers that documents state are those of the code: limits, and what is compared with brokers."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.golden.cases import CASES
from workbench.files.indexes import entry_file
from workbench.files.indexes.entry_run import IndexFile
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.text import CHECKPOINT_LIMIT
from workbench.loaders.exports.pieces import MOST_DECODED
from workbench.loaders.sql import run
from workbench.record import limits

ROOT: Final = Path(__file__).parents[2]
MIB: Final = 1 << 20
DIRECTORIES: Final = len(CASES)
VERSIONS: Final = len({case.version for case in CASES})
WORDS: Final = {15: "fifteen", 16: "sixteen", 17: "seventeen", 18: "eighteen", 19: "nineteen"}

STATED: Final = {
    "docs/limits.md": [
        f"it with {DIRECTORIES} directories that brokers of {WORDS[VERSIONS]} versions wrote",
        f"decompress to at most {limits.DEFAULT // MIB} MiB",
        f"have at most {limits.DEFAULT // limits.BYTES_A_RECORD:,} records",
        f"take at most {2 * limits.DEFAULT // MIB} MiB in the file",
        f"the first bound ({limits.SMALLEST // MIB} MiB to {limits.LARGEST >> 30} GiB)",
        f"decompressed up to {limits.MOST_CONTENT + 1 >> 30} GiB in memory",
        f"the first {IndexFile.most_bytes // MIB} MiB of entries",
        f"{TransactionIndex.most_bytes // MIB} MiB of a `.txnindex`",
        f"{ProducerSnapshot.size_limit // MIB} MiB of a `.snapshot`",
        f"and {CHECKPOINT_LIMIT // MIB} MiB of a checkpoint",
        f"searches an index above {entry_file.LARGEST_HELD // MIB} MiB in its file",
        f"SQL takes {run.USUAL_MEMORY.replace('GiB', ' GiB')} more",
        f"do not decode a key or value above {MOST_DECODED // MIB} MiB",
    ],
    "docs/how-we-know-that-it-is-true.md": [
        f"`tests/golden` holds {DIRECTORIES} *cases*",
        f"Brokers of {WORDS[VERSIONS]} versions wrote them",
    ],
    "README.md": [f"compared with real brokers: {DIRECTORIES} directories"],
    "tests/golden/README.md": [f"{DIRECTORIES} log directories"],
}


@pytest.mark.parametrize("document", STATED)
def test_a_number_in_a_document_is_that_of_the_code(document: str) -> None:
    text = re.sub(r"\s+", " ", (ROOT / document).read_text("utf-8"))
    assert [sentence for sentence in STATED[document] if sentence not in text] == []
