"""The bench: our kernels, models, start and memory against PyTorch, Inductor, XLA:CPU and the anchor. `make bench` runs it.

    python bench/run.py [--rows REGEX] [--quick] [--threads 1 2]

Every peer is a process of its own (bench/worker.py) on the same core, sampled in turn; what counts is process CPU time with one thread, and
wall time with two. Each row goes as a line of JSON to .bench/results.jsonl; bench/report.py holds the rows against bench/floors.toml and
writes docs/performance.md. The exit status is 1 if a row is under its floor.
"""

import argparse
import re
import statistics
import time

import cases
import models
import peers
import report

COMPARED = {"torch": "ours", "inductor": "ours compiled", "xla": "ours compiled"}
COMPARED_MODEL = {"torch": "ours fused", "inductor": "ours compiled", "anchor": "ours", "anchor fused": "ours fused", "anchor compiled": "ours compiled"}
BUDGET = 1  # seconds of samples of one mode in a row, three samples aside
ONE_THREAD = r"^(host|cold)| L1$"  # rows that measure what a second thread does not share
COLD = [name.replace("model", "cold") for name in models.NAMES]


def pairs_of(row):
    """[(our mode, the peer's mode)] that a row compares."""
    if row in cases.CASES:
        case = cases.CASES[row]
        pairs = {p: "ours recording" if case.fused else COMPARED[p] for p in case.peers}
    else:
        pairs = COMPARED_MODEL
    return [(ours, peer) for peer, ours in pairs.items() if peers.available(peer)]


class Bench:
    """The workers of one number of threads."""

    def __init__(self, threads, rounds, machine, against):
        self.threads, self.rounds, self.machine, self.against = threads, rounds, machine, against
        self.workers = {}

    def worker(self, mode):
        return self.workers.setdefault(mode, peers.Worker(mode, self.threads))

    def close(self):
        for worker in self.workers.values():
            worker.stop()

    def interleave(self, row, modes):
        """{mode: {"cpu": [seconds], "wall": [seconds], "check": …} or {"error": …}} for one row, sampled in turn."""
        made = {mode: self.worker(mode).ask(make=row) for mode in modes}
        running = [mode for mode in modes if "error" not in made[mode]]
        for mode in running:
            made[mode] |= {"cpu": [], "wall": []}
        spent = dict.fromkeys(running, 0.0)
        for turn in range(self.rounds):
            for mode in running[turn % len(running) :] + running[: turn % len(running)] if running else []:
                if "error" in made[mode] or (spent[mode] > BUDGET and turn >= 3):
                    continue
                start = time.perf_counter()
                taken = self.worker(mode).ask(sample=made[mode]["calls"])
                spent[mode] += time.perf_counter() - start
                if "error" in taken:
                    made[mode] = taken
                    continue
                for clock in ("cpu", "wall"):
                    made[mode][clock].append(taken[clock])
        return made

    def cold(self, row, modes, rounds):
        """The same for fresh processes: from their start to the end of the first step; and their peaks of memory, and our compile time.
        The peak is that of one more process, whose malloc does as it does for a user."""
        made = {mode: {"cpu": [], "wall": [], "peak": [], "compile": []} for mode in modes}
        for turn in range(rounds + 1):
            for mode in modes:
                if "error" not in made[mode]:
                    taken = peers.first_step(mode, self.threads, row.replace("cold", "model"), keep_memory=turn < rounds)
                    if "error" in taken:
                        made[mode] = taken
                        continue
                    for key, value in taken.items():
                        if (key == "peak") == (turn == rounds):
                            made[mode][key].append(value)
        return made


def line_of(row, made, pairs, threads, key=None):
    """A row's results: times in seconds (or bytes) as (minimum, median, samples), ratios = the peer's / ours."""
    key = key or ("cpu" if threads == 1 else "wall")
    line = {"row": row, "threads": threads, "times": {}, "ratios": {}, "errors": {m: v["error"] for m, v in made.items() if "error" in v}}
    for mode, v in made.items():
        if v.get(key):
            line["times"][mode] = [min(v[key]), statistics.median(v[key]), len(v[key])]
    for ours, peer in pairs:
        if ours in line["times"] and peer in line["times"]:
            a, b = line["times"][ours], line["times"][peer]
            line["ratios"][peer] = [b[0] / a[0], b[1] / a[1]]
            line["errors"] |= disagreement(peer, made[ours].get("check", ()), made[peer].get("check", ()))
    if row in cases.CASES:
        case = cases.CASES[row]
        line |= {"flops": case.flops, "moved": case.moved, "stream": case.stream}
    return line


def disagreement(peer, ours, theirs):
    for a, b in zip(ours, theirs, strict=False):
        if abs(a - b) > 0.02 * max(abs(a), abs(b)) + 1e-6:
            return {peer: f"computes something else: mean magnitude {b:.6g}, ours {a:.6g}"}
    return {}


def limit(line, name, mode, value):
    """An absolute limit is a peer: one that takes just so long."""
    if mode in line["times"]:
        best, median, _ = line["times"][mode]
        line["ratios"][name] = [value / best, value / median]


def measure(bench, row):
    """The lines of one row."""
    threads = bench.threads
    pairs = [pair for pair in pairs_of(row) if re.search(bench.against, pair[1])]
    modes = list(dict.fromkeys(mode for pair in pairs for mode in pair))
    if not modes:
        return []
    if row not in COLD:
        line = line_of(row, bench.interleave(row, modes), pairs, threads)
        if line.get("moved") and threads == 1:
            rate = bench.machine[line["stream"]]
            for mode in ("ours compiled", "ours"):
                limit(line, "stream", mode, line["moved"] / rate)
        if row.startswith("host strict") and "torch" in line["times"]:
            limit(line, "torch + 2 us", "ours", line["times"]["torch"][0] + 2e-6)
        return [line]
    pairs = [pair for pair in pairs if pair != ("ours", "anchor")] + [("ours fused", "anchor")]
    made = bench.cold(row, [mode for mode in modes if mode != "ours"], max(1, bench.rounds // 12))
    lines = [line_of(row, made, pairs, threads), line_of(row.replace("cold", "memory"), made, pairs, threads, "peak")]
    own = {mode: v for mode, v in made.items() if mode.startswith("ours")}
    compiles = line_of(row.replace("cold", "compile"), own, [], threads, "compile")
    limit(compiles, "20 ms", "ours fused", 20e-3)
    return [*lines, compiles]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="", help="only rows that match this regular expression")
    parser.add_argument("--against", default="", help="only peers that match this one")
    parser.add_argument("--quick", action="store_true", help="few repeats, to iterate")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="1: process CPU time; 2: wall time, rows of some size")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md, as a run of all rows does")
    options = parser.parse_args()
    peers.build()
    machine = peers.limits()
    print("one core:", ", ".join(f"{name} {rate / 1e9:.1f} G/s" for name, rate in machine.items()))
    every = [*cases.CASES, *models.NAMES, *COLD]
    rows = [row for row in every if re.search(options.rows, row)]
    table = report.Table(machine, every)
    for threads in options.threads:
        bench = Bench(threads, 9 if options.quick else 24, machine, options.against)
        for row in rows if threads == 1 else [row for row in rows if not re.search(ONE_THREAD, row)]:
            for line in measure(bench, row):
                table.add(line)
        bench.close()
    return table.close(options.page or not options.rows)


if __name__ == "__main__":
    raise SystemExit(main())
