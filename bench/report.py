"""What the bench says: the lines it prints and keeps, their floors (bench/floors.toml), and docs/performance.md."""

import datetime
import json
import re
import tomllib

import peers

RESULTS = peers.WORK / "results.jsonl"
PAGE = peers.HERE.parent / "docs/performance.md"


class Floors:
    """bench/floors.toml."""

    def __init__(self):
        tables = tomllib.loads((peers.HERE / "floors.toml").read_text())
        self.goals, self.below = tables["floor"], tables.get("below", [])

    def goal(self, row, key):
        """What is asked of a row against a peer, or None."""
        return next((f[key] for f in self.goals if key in f and re.search(f["rows"], row)), None)

    def lowered(self, row, key, threads):
        """The table of today's lower floor, or None."""
        return next((f for f in self.below if key in f and re.search(f["rows"], row) and f.get("threads", threads) == threads), None)

    def floor(self, row, key, threads):
        """What fails the bench."""
        lowered = self.lowered(row, key, threads)
        return lowered[key] if lowered else self.goal(row, key)

    def verdicts(self, line):
        """{peer: "under" the floor or "below goal"} of a line of results."""
        row, enough, out = line["row"], self.goal(line["row"], "or_stream"), {}
        for peer, (ratio, _) in line["ratios"].items():
            goal = self.goal(row, peer)
            if goal is not None and ratio < goal and not (enough and line["ratios"].get("stream", [0])[0] >= enough):
                out[peer] = "below goal" if ratio >= self.floor(row, peer, line["threads"]) else "under"
        return out


class Table:
    """The results of a run, line by line."""

    def __init__(self, machine, order):
        self.machine, self.order, self.floors, self.under = machine, order, Floors(), []

    def add(self, line):
        line |= {"machine": self.machine, "day": datetime.date.today().isoformat()}
        self.judge(line)
        with open(RESULTS, "a") as results:
            print(json.dumps(line), file=results)
        print(text(line), flush=True)

    def judge(self, line):
        line["verdicts"] = self.floors.verdicts(line)
        for peer, verdict in line["verdicts"].items():
            if verdict == "under":
                row, threads, ratio = line["row"], line["threads"], line["ratios"][peer][0]
                on = " on two threads" if threads == 2 else ""
                self.under.append(f"{row}: {ratio:.2f} of {peer}{on}, {self.floors.floor(row, peer, threads)} asked")

    def close(self, page):
        if page:
            write_page(self.order)
        if self.under:
            print(f"\n{len(self.under)} under the floor:", *self.under, sep="\n  ")
        return bool(self.under)


# ---- docs/performance.md

SECTIONS = {
    "Products": "gemm|decode|attention matmul", "Convolutions": "conv [^+]*$", "Products and what follows": r"linear \+|conv .*\+", "Attention": "attention (?!matmul)",
    "Chains and rows": "chain|gelu|softmax|layer norm|cross entropy|AdamW|SGD", "Indices, scans, pools": "sort|top-k|scatter_add|embedding|cumsum|max-pool|interpolate",
    "Layouts and rarer functions": "roll|permute|pixel|cat f32|outer|adaptive|cummin|index_add|isin|asin|atan2|sum f32|"
    "exp2|digamma|silu|column|fill|reflection|nonzero|triangular|floor_divide|complex",
    "Host time": "host", "Models": "model", "Start": "cold", "Compile time": "compile", "Peak memory": "memory",
}  # fmt: skip
INTRODUCTION = """# Performance

`make bench` wrote this page from its last results of each row ({days}; torch {torch}; {processor}). `make bench ROWS=regex`
measures some rows anew, `QUICK=1` with few repeats, `THREADS=2` only those of two threads. The peers are installed aside, in `.bench/`.

A ratio is **the peer's time divided by ours**: above 1 we are faster. One thread, process CPU time, no spinning, every peer a process of its
own on the same core, sampled in turn; the first figure compares minima, the one in brackets medians. `2T` compares wall minima of two threads.
Kernels are called as a user calls them, `op(tensor)`: PyTorch against our strict eager mode, where each call runs; Inductor and XLA:CPU, under
`torch.compile`, against ours under `torch.compile`. XLA:CPU runs our own lowering through its PJRT plugin. Models: PyTorch eager against our fused eager mode,
Inductor against our `torch.compile`, and the anchor (Google's torch-tpu 0.2.0 on XLA:CPU) mode by mode, with attention written out, since its
own kernel is for TPUs. malloc is told to keep its memory, which spares PyTorch its page faults, except where
peak memory is measured.

**Bold** is under today's floor, *italic* below what is asked for (`bench/floors.toml` has both, and the reasons at the end of this page).

The limits of one core, measured in the same run: {limits}.
"""


def latest():
    """{(row, threads): the last results}; a run against some peers leaves those of the others."""
    lines = {}
    for line in map(json.loads, RESULTS.read_text().splitlines()):
        old = lines.setdefault((line["row"], line["threads"]), {})
        measured = {*line["times"], *line["ratios"], *line["errors"]}
        parts = {key: {**{k: v for k, v in old.get(key, {}).items() if k not in measured}, **line.get(key, {})} for key in ("times", "ratios", "errors")}
        old |= line | parts
    return lines


def cell(line, peer):
    if peer not in line["ratios"]:
        return "fails" if peer in line["errors"] else ""
    least, median = line["ratios"][peer]
    mark = {"under": "**", "below goal": "*"}.get(line["verdicts"].get(peer), "")
    return f"{mark}{least:.2f}{mark} ({median:.2f})"


def section(title, pattern, lines):
    chosen = [line for (row, threads), line in lines.items() if threads == 1 and re.match(pattern, row)]
    if not chosen:
        return []
    modes = list(dict.fromkeys(m for line in chosen for m in line["times"] if m.startswith("ours")))
    against = list(dict.fromkeys(p for line in chosen for p in (*line["ratios"], *line["errors"]) if not p.startswith("ours") and p != "stream"))
    seconds = [lines.get((line["row"], 2), {"ratios": {}, "errors": {}}) for line in chosen]
    against2 = [p for p in against if any(p in second["ratios"] for second in seconds)]
    limit = any(line.get("flops") or line.get("moved") for line in chosen)
    head = ["row", *modes, *against, *(f"2T {p}" for p in against2), *(["of the limit"] if limit else [])]
    out = ["", f"## {title}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for line, second in zip(chosen, seconds, strict=True):
        times = [amount(line["times"][m][0], line["row"].startswith("memory")) if m in line["times"] else "" for m in modes]
        ratios = [*(cell(line, p) for p in against), *(cell(second, p) for p in against2)]
        cells = [line["row"], *times, *ratios, *([of_limit(line)] if limit else [])]
        out.append("| " + " | ".join(cells) + " |")
    failures = {f"{peer}: {error}" for line in chosen for peer, error in line["errors"].items()}
    return [*out, *(["", *(f"- {f}" for f in sorted(failures))] if failures else [])]


def of_limit(line):
    best = min((t[0] for mode, t in line["times"].items() if mode.startswith("ours")), default=0)
    if "stream" in line["ratios"]:
        mark = {"under": "**", "below goal": "*"}.get(line["verdicts"].get("stream"), "")
        return f"{mark}{100 * line['ratios']['stream'][0]:.0f} %{mark} of {line['stream']}"
    peak = line["machine"]["bf16" if " bf16" in line["row"] else "f32"]
    return f"{100 * line['flops'] / best / peak:.0f} % of peak" if best and line.get("flops") and peak else ""


def reasons(floors, lines):
    out = []
    for table in floors.below:
        rows = [f"{row}{' 2T' if threads == 2 else ''} {line['ratios'][k][0]:.2f} of {k} ({floors.goal(row, k)} asked)" for (row, threads), line in lines.items()
                for k, v in line["verdicts"].items() if floors.lowered(row, k, threads) is table]  # fmt: skip
        if rows:
            out.append(f"- {table['reason']} — {'; '.join(rows)}")
    return ["", "## Below what is asked for, and what would close it", "", *out] if out else []


def processor():
    models = [x.partition(":")[2].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")]
    return f"{len(models)} cores of {models[0]}" if models else "unknown processor"


def write_page(order):
    import torch

    lines, floors = latest(), Floors()
    for line in lines.values():  # by the floors as they are now
        line["verdicts"] = floors.verdicts(line)
    machine = list(lines.values())[-1]["machine"]
    days = sorted({line["day"] for line in lines.values()})
    units = {"read": "GB/s read from memory", "triad": "GB/s of a triad", "f32": "GF/s of f32 multiply-adds", "bf16": "GF/s of bf16 pairs"}
    text = INTRODUCTION.format(days=" to ".join(dict.fromkeys((days[0], days[-1]))), torch=torch.__version__, processor=processor(),
                               limits=", ".join(f"{machine[k] / 1e9:.0f} {unit}" for k, unit in units.items()))  # fmt: skip
    place = {row: i for i, row in enumerate(order)}
    lines = dict(sorted(lines.items(), key=lambda item: place.get(item[0][0], 0)))
    body = [line for title, pattern in SECTIONS.items() for line in section(title, pattern, lines)]
    PAGE.write_text("\n".join([text.rstrip(), *body, *reasons(floors, lines), ""]))


# ---- lines for the terminal


def amount(value, memory=False):
    units = (("GiB", 2**30), ("MiB", 2**20)) if memory else (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, scale = next((u for u in units if value >= u[1]), units[-1])
    return f"{value / scale:.3g} {unit}"


def text(line):
    parts, memory = [f"{line['row'] + (' 2T' if line['threads'] == 2 else ''):40}"], line["row"].startswith("memory")
    parts += [f"{mode} {amount(t[0], memory)}" for mode, t in line["times"].items() if mode.startswith("ours")]
    for peer, (least, median) in line["ratios"].items():
        mark = {"under": " UNDER", "below goal": " below goal"}.get(line["verdicts"].get(peer), "")
        parts.append(f"| {peer} {least:.2f} ({median:.2f}){mark}")
    best = min((t[0] for mode, t in line["times"].items() if mode.startswith("ours")), default=0)
    if best and line.get("flops") and line["threads"] == 1:
        parts.append(f"{line['flops'] / best / 1e9:.0f} GF/s")
    parts += [f"[{mode}: {error}]" for mode, error in line["errors"].items()]
    return "  ".join(parts)
