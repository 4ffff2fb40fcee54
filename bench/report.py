"""What the bench says: the lines it prints and keeps, their floors (bench/floors.toml), and docs/performance.md."""

import json
import re
import tomllib

import peers

RESULTS = peers.WORK / "results.jsonl"


class Floors:
    """bench/floors.toml."""

    def __init__(self):
        tables = tomllib.loads((peers.HERE / "floors.toml").read_text())
        self.goals, self.below = tables["floor"], tables.get("below", [])

    def goal(self, row, key):
        """What is asked of a row against a peer, or None."""
        return next((f[key] for f in self.goals if key in f and re.search(f["rows"], row)), None)

    def floor(self, row, key):
        """What fails the bench: today's lower floor if there is one."""
        return next((f[key] for f in self.below if key in f and re.search(f["rows"], row)), self.goal(row, key))


class Table:
    """The results of a run, line by line."""

    def __init__(self, machine):
        self.machine, self.floors, self.under = machine, Floors(), []

    def add(self, line):
        line["share"] = self.share(line)
        if line["threads"] == 1:
            self.judge(line)
        with open(RESULTS, "a") as results:
            print(json.dumps(line), file=results)
        print(text(line), flush=True)

    def share(self, line):
        """Our share of the stream bandwidth that bounds the row, or None."""
        best = min((t[0] for mode, t in line["times"].items() if mode.startswith("ours")), default=0)
        return line["moved"] / best / self.machine[line["stream"]] if best and line.get("moved") else None

    def judge(self, line):
        row = line["row"]
        enough = self.floors.goal(row, "or_stream")
        line["verdicts"] = {}
        for peer, (ratio, _) in line["ratios"].items():
            goal, floor = self.floors.goal(row, peer), self.floors.floor(row, peer)
            if goal is None or ratio >= goal or (enough and line["share"] and line["share"] >= enough):
                continue
            line["verdicts"][peer] = "below goal" if ratio >= floor else "under"
            if ratio < floor:
                self.under.append(f"{row}: {ratio:.2f} of {peer}, {floor} asked")

    def close(self):
        if self.under:
            print(f"\n{len(self.under)} under the floor:", *self.under, sep="\n  ")
        return bool(self.under)


def amount(value, memory=False):
    units = (("GiB", 2**30), ("MiB", 2**20)) if memory else (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, scale = next((u for u in units if value >= u[1]), units[-1])
    return f"{value / scale:.3g} {unit}"


def text(line):
    parts, memory = [f"{line['row']:40}"], line["row"].startswith("memory")
    parts += [f"{mode} {amount(t[0], memory)}" for mode, t in line["times"].items() if mode.startswith("ours")]
    for peer, (least, median) in line["ratios"].items():
        mark = {"under": " UNDER", "below goal": " below goal"}.get(line.get("verdicts", {}).get(peer), "")
        parts.append(f"| {peer} {least:.2f} ({median:.2f}){mark}")
    best = min((t[0] for mode, t in line["times"].items() if mode.startswith("ours")), default=0)
    if best and line.get("flops"):
        parts.append(f"{line['flops'] / best / 1e9:.0f} GF/s")
    if line.get("share"):
        parts.append(f"{line['moved'] / best / 1e9:.1f} GB/s, {100 * line['share']:.0f} % of {line['stream']}")
    parts += [f"[{mode}: {error}]" for mode, error in line["errors"].items()]
    return "  ".join(parts)
