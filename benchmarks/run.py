"""Benchmarks that the documentation quotes, with short settings: one JSON of their ratios.

    python benchmarks/run.py [--only NAME ...] [--out results/bench.json]        (make bench)

Each script runs in a process of its own, and what it prints is shown. A ratio is read from the
lines that its pattern in ``RUNS`` matches; an indented line belongs to the heading above it. What a
ratio compares, and which side of 1 is better, is said by the script. A script that fails, such as
one whose package is not installed, is listed under "failed" with the last line of its error.
The documentation names the full settings of each script. Scripts that take hours, or print other
figures than ratios, are run by hand. About an hour on an idle core.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import bocce

FOLDER = Path(__file__).parent
LAST = r"(?P<ratio>\d+\.\d+)$"  # the line ends with the ratio


class Run(NamedTuple):
    script: str
    options: str
    pattern: str  # the groups "what" and "ratio" of a line with a ratio


RUNS = [
    Run("small", "--rounds 20", r"\s+(?P<what>HeavyBall\S+).* ms\s+" + LAST),
    Run("cv", "--repeats 1 --data iris wine diabetes", r"(?P<what>.+?) [\d.]+ and .*" + LAST),
    Run("wide", "--peers --repeats 1", r"(?P<what>2,000 x [^:]+): .* s, " + LAST),
    Run(
        "peers",
        "--quick --repeats 1 --peers --again --data iris ijcnn1 a9a",
        r"(?P<what>.{12}(logistic|squared)\s+\S+)\s.*\s" + LAST,
    ),
    Run("begin", "--repeats 1 --most 5e6", r"(?P<what>[^:]+): .*; [\d.]+, " + LAST),
    Run("engines", "--rounds 1", r"(?P<what>\S.*?)\s+(?P<ratio>[\d.]+)\s+target"),
    Run("inference", "--repeats 1", r"(?P<what>\S.{15} \S+) .* " + LAST),
    Run("regret", "--count 4 --out results", r"\| (?P<what>[^|]+) \| (?P<ratio>\d\S*) \| .*% of"),
    Run(
        "batch_ramps",
        "--models 4 --out results",
        r"  (?P<what>[a-z ]+?)\s+(?P<ratio>\d+\.\d+)\s+\d+\.\d+\s+\d+\.\d+$",
    ),
    Run("auto_runs", "--seeds 1", r"\| (?P<what>[^|]+) \| \S+ \| \S+ \| (?P<ratio>\d+\.\d+) \|$"),
    Run(
        "csv_text",
        "--rows 200000 --turns 2 --folder results",
        r"\| (?P<what>[^|]+) \| [\d.]+ s \| [\d.]+ s \| (?P<ratio>[\d.]+)",
    ),
    Run("torch_step", "--millions 1 --rounds 5", r"(?P<what>\S.*?)\s+[\d.]+ ms\s+ratio\s+" + LAST),
    Run("ray_step", "--numbers 1e7", r"(?P<what>\d+ workers.*): (?P<ratio>[\d.]+) times"),
    Run("ablate", "--quick --repeats 1", r"\s+(?P<what>\S.*?)\s+on .*ratio " + LAST),
]


def ratios_of(run: Run, lines: list[str]) -> dict[str, float]:
    """The ratios among the lines that a script printed, by what they are of."""
    found = {}
    heading = ""
    for line in lines:
        line = line.rstrip()
        matched = re.match(run.pattern, line)
        if matched is None:
            if line and not line.startswith(" "):
                heading = line
            continue
        what = " ".join(matched["what"].split())
        if line.startswith(" "):
            what = f"{heading}: {what}"
        found[what] = float(matched["ratio"])
    return found


def carried_out(run: Run) -> tuple[dict[str, float], str]:
    """The ratios of a script, and why it failed (nothing if it did not)."""
    command = [sys.executable, str(FOLDER / f"{run.script}.py"), *run.options.split()]
    print("==", *command[1:], flush=True)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    failed = process.returncode != 0
    last = lines[-1].strip() if lines else f"exit code {process.returncode}"
    return ratios_of(run, lines), last if failed else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [run.script for run in RUNS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    ratios = {}
    failed = {}
    for run in RUNS:
        if run.script not in args.only:
            continue
        found, why = carried_out(run)
        ratios[run.script] = found
        if why:
            failed[run.script] = why
        elif not found:
            failed[run.script] = "no line with a ratio"
        report = {
            "bocce": bocce.__version__,
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "ratios": ratios,
            "failed": failed,
        }
        args.out.write_text(json.dumps(report, indent=1) + "\n")  # a run may be interrupted
    print(f"wrote {args.out}; failed: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
