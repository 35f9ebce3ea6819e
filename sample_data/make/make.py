"""Make the sample data again: ``python sample_data/make/make.py --out DIR [--seed N]``.

Starts real brokers from their Maven artifacts on 127.0.0.1 and lets real clients write. Needs java,
javac and mvn; the whole takes some minutes on two cores. Contents follow the seed; wall-clock
times, topic ids, producer ids and where the broker rolls its segments do not repeat.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))  # tests/kafka_broker.py starts brokers

import damage
import eras
import registry
import shop

NOT_DATA = {".lock"}  # the running broker's own


def keep(log_directory: Path, target: Path) -> None:
    """Copy a stopped broker's log directory to where the samples are."""
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(log_directory, target, ignore=lambda _, names: NOT_DATA & set(names))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--only", default="shop,eras,registry,damaged", help="also versions")
    options = parser.parse_args()
    wanted = set(options.only.split(","))
    with tempfile.TemporaryDirectory(prefix="sample-data-") as working:
        if "shop" in wanted:
            made = shop.make_shop(Path(working) / "shop", options.seed)
            keep(made, options.out / f"shop-{shop.VERSION}")
        for version in eras.VERSIONS:
            if "eras" in wanted or version in wanted:
                made = eras.make_era(version, Path(working) / version, options.seed)
                keep(made, options.out / f"era-{version}")
        if "registry" in wanted:
            made = registry.make_registry(Path(working) / "registry")
            keep(made, options.out / f"registry-{registry.VERSION}")
        if "damaged" in wanted:
            made, edits = damage.make_damaged(Path(working) / "damaged", options.seed)
            keep(made, options.out / "damaged")
            (options.out / "damaged.tsv").write_text(edits)


if __name__ == "__main__":
    main()
