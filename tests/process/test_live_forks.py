"""Live spans and forked processes: each span once, by the process that made it."""

from __future__ import annotations

from pathlib import Path

from support.live import run_live


def test_a_span_that_is_open_at_a_fork_is_exported_once_by_the_parent(tmp_path: Path) -> None:
    exported, _ = run_live(
        """
instrument(tracer_provider=make_provider())
with case("S", "c"):
    with dispatch():
        child = os.fork()
        if child == 0:
            with case("S", "child"), dispatch(): pass
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
""",
        tmp_path,
    )
    found = {span["name"]: span for span in exported}
    assert sorted(span["name"] for span in exported) == ["S::c", "S::child", "dispatch S::c", "dispatch S::child"]
    assert found["S::c"]["pid"] == found["dispatch S::c"]["pid"] != found["S::child"]["pid"]
    assert found["S::child"]["parent"] == found["dispatch S::c"]["id"]
    assert len({span["id"] for span in exported}) == 4


def test_a_forked_child_that_ends_by_os_exit_sends_what_a_batch_processor_holds(tmp_path: Path) -> None:
    exported, _ = run_live(
        """
import multiprocessing
provider = make_provider(BatchSpanProcessor)
instrument(tracer_provider=provider)
def work():
    with dispatch(callable="work"): pass
children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(3)]
for child in children: child.start()
for child in children: child.join()
assert [child.exitcode for child in children] == [0, 0, 0]
""",
        tmp_path,
    )
    assert sorted(span["name"] for span in exported) == ["-c"] * 3 + ["dispatch work"] * 3
    assert len({(span["pid"], span["name"]) for span in exported}) == 6


def test_such_a_child_waits_a_second_for_a_dead_backend_and_no_more(tmp_path: Path) -> None:
    exported, _ = run_live(
        """
import multiprocessing, time
from opentelemetry.sdk.trace.export import SpanExporter
class BlackHole(SpanExporter):
    def export(self, spans):
        time.sleep(20)
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(BlackHole()))
instrument(tracer_provider=provider)
def work():
    with dispatch(): pass
child = multiprocessing.get_context("fork").Process(target=work)
start = time.monotonic()
child.start()
child.join()
assert child.exitcode == 0
with open(os.environ["SPANS"], "w") as file:
    file.write(json.dumps({"seconds": time.monotonic() - start}) + "\\n")
""",
        tmp_path,
    )
    assert 1 <= exported[0]["seconds"] < 5
