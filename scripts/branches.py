"""Print how many branches of the code were run, by folder, from coverage's report as JSON; ``python -m scripts.branches
FILE``. Exit code 1 below :data:`LEAST_PCT` percent."""

import json
import sys
from collections import Counter
from pathlib import Path

LEAST_PCT = 90.0
DEPTH = 2  # folders of the path that name a row


def main() -> int:
    files = json.loads(Path(sys.argv[1]).read_bytes())["files"]
    every, run = Counter[str](), Counter[str]()
    for name, file in files.items():
        summary = file["summary"]
        for row in ("all", "/".join(Path(name).parts[:-1][:DEPTH])):
            every[row] += summary["num_branches"]
            run[row] += summary["covered_branches"]
    shares = {row: 100 * run[row] / count for row, count in every.items() if count}
    for row, share in sorted(shares.items(), key=lambda item: item[1]):
        print(f"{share:6.1f} % of {every[row]:5} branches in {row}")
    return 0 if shares["all"] >= LEAST_PCT else 1


if __name__ == "__main__":
    sys.exit(main())
