"""A fork while another thread of the process imports what recording needs: no child may hang."""

from __future__ import annotations

from pathlib import Path

from support.scripts import run_script

CHILDREN = 40
RACE = f"""
import os, signal, threading, time
instrument()
def first():
    with case("S", "thread"):
        with dispatch(): pass
thread = threading.Thread(target=first)
thread.start()
children = []
for number in range({CHILDREN}):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        with case("S", f"child {{number}}"):
            with dispatch(): pass
        os._exit(0)
    children.append(child)
    time.sleep(0.001)
thread.join()
print(sum(os.waitpid(child, 0)[1] == 0 for child in children))
"""
TRIES = 3


def test_a_child_forked_while_a_thread_opens_its_first_case_records_its_own_first_case(tmp_path: Path) -> None:
    for attempt in range(TRIES):
        store = tmp_path / str(attempt)
        done = run_script(RACE, env={"SCENETEST_OTEL_DIR": str(store)})
        assert (done.stdout, done.stderr, done.returncode) == (f"{CHILDREN}\n", "", 0)
        assert len(list(store.glob("*/*.jsonl"))) == CHILDREN + 1
    print(f"{TRIES} races of {CHILDREN} forks: all children recorded")
