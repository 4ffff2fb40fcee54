"""Who may include whom, and the limits on files."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_include_order():
    done = subprocess.run([sys.executable, ROOT / "tools/layers.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_files_have_at_most_1000_lines():
    long = [p for p in (ROOT / "src").rglob("*.[ch]*") if len(p.read_text().splitlines()) > 1000]
    assert not long
