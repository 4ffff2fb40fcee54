"""Compiles a folder of programs with libtpu's own compiler, no TPU needed, each within a time limit, and says how many compile.

  libtpu_sweep.py FOLDER RESULTS.jsonl [--topology v6e:1x1] [--sample N [--seed S]] [--jobs N] [--timeout SECONDS]

RESULTS gets a line for each program, {"program", "ok", "seconds", "error"}, by the file's stem; those in it are not done again. A program
that crashes the compiler, or takes too long, costs itself only: `ttc aot` goes on behind it in a new process."""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import selectors
import subprocess
import sys
import time

BATCH = 200  # programs a process


class Compiler:
    """One `ttc aot` process, its programs in order, and what it has said since the last one ended."""

    def __init__(self, options, files):
        self.files, self.said, self.text = collections.deque(files), [], b""
        self.began, self.cpu_before = time.time(), 0.0
        command = [options.ttc, "aot", "--plugin", options.plugin, "--topology", options.topology, *map(str, files)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def hear(self, finish):
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            self.line(line.decode(errors="replace"), finish)
        return bool(data)

    def line(self, line, finish):
        """`FILE topology=... seconds=...` ends a program; so does an error, which begins with the file's name."""
        path = str(self.files[0]) if self.files else None
        if path and line.startswith(f"{path} topology="):
            self.end(finish, True, float(re.search(r"seconds=([\d.]+)", line)[1]), "")
        elif path and line.startswith(f"ttc: {path}: "):
            self.end(finish, False, time.time() - self.began, line.split(f"{path}: ", 1)[1])
        else:
            self.said.append(line)

    def end(self, finish, ok, seconds, error):
        finish(self.files.popleft(), ok, seconds, error)
        self.said, self.began, self.cpu_before = [], time.time(), self.cpu()

    def cpu(self):
        """Seconds that the process has computed, all threads together."""
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return self.cpu_before
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def late(self, limit):
        """By its own time, since the machine may be busy; a process that sleeps ends too."""
        return self.cpu() - self.cpu_before > limit or time.time() - self.began > 10 * limit

    def close(self, finish, why):
        """The files that remain."""
        status = self.process.wait()
        if self.files and status != 0:
            self.end(finish, False, time.time() - self.began, f"{why or f'exit {status}'}: {' | '.join(self.said[-4:])[:600]}")
        return list(self.files)


def compile_all(options, files, finish):
    selector, running = selectors.DefaultSelector(), set()
    batches = [files[i : i + BATCH] for i in range(0, len(files), BATCH)][::-1]
    while batches or running:
        while batches and len(running) < options.jobs:
            c = Compiler(options, batches.pop())
            running.add(c)
            selector.register(c.process.stdout, selectors.EVENT_READ, c)
        ended = [(c, "") for c in (key.data for key, _ in selector.select(1)) if not c.hear(finish)]
        for c in running - {c for c, _ in ended}:
            if c.late(options.timeout):
                c.process.kill()
                ended.append((c, f"no end after {options.timeout:.0f} s"))
        for c, why in ended:
            selector.unregister(c.process.stdout)
            running.remove(c)
            left = c.close(finish, why)
            if left:
                batches.append(left)


def kind(error):
    """An error without its numbers, types and names."""
    return re.sub(r"\d+", "N", re.sub(r"%[\w.-]+|tensor<[^>]*>|\w+\[[\d,]*\](\{[^}]*\})?|0x\w+", "_", error))[:160]


def report(rows):
    failed = [r for r in rows if not r["ok"]]
    seconds = sorted(r["seconds"] for r in rows)
    print(f"{len(rows) - len(failed)} of {len(rows)} programs compile ({100 * (1 - len(failed) / max(1, len(rows))):.2f} %)")
    if rows:
        print(f"seconds a program: median {seconds[len(seconds) // 2]:.2f}, most {seconds[-1]:.1f}, all {sum(seconds):.0f}")
    for what, n in collections.Counter(kind(r["error"]) for r in failed).most_common():
        print(f"{n:5} {what}: {next(r['program'] for r in failed if kind(r['error']) == what)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--topology", default="v6e:1x1")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds a program")
    options = parser.parse_args()
    from torch_tpu import _loader, _plugin

    options.ttc, options.plugin = str(_loader.library_dir() / "ttc"), _plugin.libtpu()
    if options.plugin is None:
        sys.exit("libtpu is not installed: pip install 'torch_tpu[tpu]', or set TPU_LIBRARY_PATH")
    files = sorted(options.folder.glob("*.mlir"))
    if options.sample and options.sample < len(files):
        files = random.Random(options.seed).sample(files, options.sample)
    wanted = {f.stem for f in files}
    rows = [json.loads(line) for line in open(options.results)] if options.results.exists() else []
    done = {r["program"] for r in rows}
    with open(options.results, "a") as out:

        def finish(path, ok, seconds, error):
            rows.append({"program": path.stem, "ok": ok, "seconds": round(seconds, 2), "error": error})
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()

        compile_all(options, [f for f in files if f.stem not in done], finish)
    report([r for r in rows if r["program"] in wanted])


if __name__ == "__main__":
    main()
