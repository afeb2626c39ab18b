"""Starts a child process, writes both process ids to the file `pids`, and sleeps as the child does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path("pids").write_text(f"{os.getpid()} {child.pid} ")
print("ready", flush=True)
time.sleep(600)
