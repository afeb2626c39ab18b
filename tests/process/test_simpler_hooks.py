"""Hooks are installed and removed: the harness is not changed for good, and missing functions are reported once."""

from __future__ import annotations

from pathlib import Path

from support.harness import HARNESS
from support.scripts import only_process, record, run_script

ENVIRONMENT = {"PYTHONPATH": str(HARNESS)}
HOOKED = """
    import importlib
    def hooked():
        worker, scene, scheduler = map(
            importlib.import_module, ("simpler.worker", "simpler_setup.scene_test", "simpler_setup.parallel_scheduler")
        )
        return [
            vars(worker.Worker)["run"], vars(worker.Worker)["submit"], vars(worker.Worker)["init"],
            vars(worker.RunHandle)["wait"], worker._run_mailbox_loop,
            vars(scene.SceneTestCase)["_run_and_validate"], scene._build_l2_ref_args,
            vars(scene._RehostedTaskArgs)["__init__"], scheduler.run_jobs,
        ]
    """


def printed(source: str, **env: str) -> str:
    done = run_script(source, env={**ENVIRONMENT, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_uninstrument_puts_the_identical_functions_back(tmp_path: Path) -> None:
    source = """
    originals = hooked()
    for _ in range(2):
        instrument()
        assert not any(one is original for one, original in zip(hooked(), originals))
        uninstrument()
        assert all(one is original for one, original in zip(hooked(), originals))
    print("same")
    """
    assert "same" in printed(HOOKED + source, SCENETEST_OTEL_DIR=str(tmp_path))


def test_modules_are_hooked_after_their_import_and_keep_their_own_loader(tmp_path: Path) -> None:
    source = """
    import sys
    instrument()
    finders = len(sys.meta_path)
    functions = hooked()
    for name in ("simpler.worker", "simpler_setup.scene_test", "simpler_setup.parallel_scheduler"):
        module = sys.modules[name]
        assert module.__loader__ is module.__spec__.loader
        assert type(module.__loader__).__module__ == "_frozen_importlib_external", module.__loader__
    uninstrument()
    assert [one.__wrapped__ for one in functions] == hooked()
    print("hooked")
    """
    assert "hooked" in printed(HOOKED + source, SCENETEST_OTEL_DIR=str(tmp_path))


def test_a_hook_of_somebody_else_on_top_of_ours_stays(tmp_path: Path) -> None:
    source = """
    from simpler.worker import Worker
    instrument()
    ours = Worker.run
    def theirs(*args, **keywords):
        return ours(*args, **keywords)
    Worker.run = theirs
    uninstrument()
    assert Worker.run is theirs
    print("kept")
    """
    assert "kept" in printed(source, SCENETEST_OTEL_DIR=str(tmp_path))


def test_what_a_version_of_the_harness_lacks_is_named_in_one_warning_and_the_rest_is_recorded(tmp_path: Path) -> None:
    source = """
    import simpler.worker
    from simpler.task_interface import ChipCallable
    del simpler.worker._run_mailbox_loop
    instrument()
    for _ in range(2):
        worker = simpler.worker.Worker(level=2, device_id=0, platform="a2a3sim", runtime="host_build_graph")
        worker.init()
        worker.run(worker.register(ChipCallable("nothing", lambda: None, [])))
    """
    output = printed(source, SCENETEST_OTEL_DIR=str(tmp_path / "seen"))
    warning = "simpler.worker has no _run_mailbox_loop, so the clean end of a forked worker is not recorded"
    assert output.count(warning) == 1
    run = record(source, tmp_path / "recorded", env=ENVIRONMENT)
    assert len(only_process(run).dispatches) == 2


def test_a_fault_in_a_hook_is_one_warning_and_the_harness_goes_on(tmp_path: Path) -> None:
    source = """
    from simpler.task_interface import ChipCallable
    from simpler.worker import Worker
    instrument()
    worker = Worker(level=2, device_id=0, platform="a2a3sim", runtime="host_build_graph")
    worker.init()
    del worker._config
    worker._config = None
    for _ in range(3):
        worker.run(worker.register(ChipCallable("nothing", lambda: print("ran"), [])))
    """
    output = printed(source, SCENETEST_OTEL_DIR=str(tmp_path))
    assert output.count("ran\n") == 3
    assert output.count("could not tell what a dispatch is run with, the run goes on without it") == 1


def test_a_harness_that_logs_the_line_itself_is_not_made_to_log_it_twice(tmp_path: Path) -> None:
    source = """
    import importlib, logging
    logging.basicConfig()
    from simpler.task_interface import ChipCallable
    from simpler.worker import Worker
    importlib.import_module("simpler_setup.scene_test").log_torch_backend_autoload_once = lambda: None
    instrument()
    worker = Worker(level=2, device_id=0, platform="a2a3sim", runtime="host_build_graph")
    worker.init()
    worker.run(worker.register(ChipCallable("nothing", lambda: None, [])))
    """
    assert "torch_backend_autoload" not in printed(source, SCENETEST_OTEL_DIR=str(tmp_path))
    without = source.replace(".log_torch_backend_autoload_once", ".something_else")
    assert "torch_backend_autoload" in printed(without, SCENETEST_OTEL_DIR=str(tmp_path))


def test_a_job_with_an_environment_of_its_own_joins_the_run_and_stays_as_the_caller_made_it(tmp_path: Path) -> None:
    source = """
    import sys
    from simpler_setup.parallel_scheduler import Job, run_jobs
    instrument()
    child = "import os; print(os.environ.get('SCENETEST_OTEL_RUN'), os.environ.get('MINE'))"
    own = Job("own", 1, lambda ids: [sys.executable, "-S", "-c", child], env={"MINE": "1"})
    inherited = Job("inherited", 1, lambda ids: [sys.executable, "-S", "-c", child])
    from simpler_setup import parallel_scheduler
    results = parallel_scheduler.run_jobs([own, inherited], [0])
    import os
    run = os.environ["SCENETEST_OTEL_RUN"]
    assert [result.output.split() for result in results] == [[run, "1"], [run, "None"]]
    assert own.env == {"MINE": "1"}
    print("joined")
    """
    assert "joined" in printed(source, SCENETEST_OTEL_DIR=str(tmp_path))
