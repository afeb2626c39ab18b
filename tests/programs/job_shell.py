"""Runs the command in its arguments as a foreground job, as a shell does. When it stops, continues it and waits."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, setpgroup=0, setsigdef=[signal.SIGTTOU])
os.tcsetpgrp(0, job)
print("job", job, flush=True)
stopped = os.waitpid(job, os.WUNTRACED)[1]
(command,) = Path(f"/proc/{job}/task/{job}/children").read_text().split()
while Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[0] != "T":
    pass
print("both stopped by", signal.Signals(os.WSTOPSIG(stopped)).name, flush=True)
os.killpg(job, signal.SIGCONT)
print("exit", os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]), flush=True)
