"""A process measures the duration of an empty dispatch before its first one, and leaves no other trace of it."""

from __future__ import annotations

from pathlib import Path

from support.scripts import only_process, record, run_script

from opentelemetry.instrumentation.scenetest.conditions.overhead import P50, P99

MEASURED = """
    import os, sys
    {first}
    descriptors = os.listdir("/proc/self/fd")
    instrument()
    with case("S", "c"):
        for _ in range(1000):
            with dispatch():
                pass
    """


def test_the_record_says_what_an_empty_dispatch_reads_as_and_holds_nothing_else_of_it(tmp_path: Path) -> None:
    process = only_process(record(MEASURED.format(first=""), tmp_path))
    p50, p99 = (process.record.sets[0][attribute] for attribute in (P50, P99))
    assert isinstance(p50, int)
    assert isinstance(p99, int)
    assert 0 < p50 <= p99
    (recorded,) = process.cases
    assert [one.round for one in recorded.dispatches] == list(range(1000))
    readings = sorted(one.duration_ns or 0 for one in recorded.dispatches)
    # The machine is shared, so that only another order of magnitude is a fault.
    assert p50 / 10 < readings[500] < p50 * 10


def test_it_is_the_same_with_opentelemetry_in_the_process_and_no_span_of_it_is_seen(tmp_path: Path) -> None:
    process = only_process(
        record(
            MEASURED.format(first="from opentelemetry import trace")
            + """
    assert not trace.get_current_span().get_span_context().is_valid
    """,
            tmp_path,
        )
    )
    assert isinstance(process.record.sets[0][P50], int)


def test_a_provider_of_the_program_gets_no_span_of_it(tmp_path: Path) -> None:
    done = run_script(
        """
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        instrument(tracer_provider=provider)
        with case("S", "c"), dispatch():
            pass
        of_dispatch, of_case = exporter.get_finished_spans()
        print(of_dispatch.name, of_case.name, type(of_dispatch.attributes["scenetest.overhead.p50"]).__name__)
        """
    )
    assert (done.stdout, done.stderr) == ("dispatch S::c S::c int\n", "")


def test_a_forked_child_has_that_of_its_parent(tmp_path: Path) -> None:
    run = record(
        """
        import os
        instrument()
        with case("S", "parent"), dispatch():
            pass
        if os.fork() == 0:
            with case("S", "child"), dispatch():
                pass
            os._exit(0)
        os.wait()
        """,
        tmp_path,
    )
    parent, child = ({key: one.record.sets[0][key] for key in (P50, P99)} for one in run.processes)
    assert parent == child


def test_it_takes_less_than_five_milliseconds_and_leaves_no_descriptor(tmp_path: Path) -> None:
    done = run_script(
        """
        import os, time
        from opentelemetry.instrumentation.scenetest.record import overhead, preload
        instrument()
        preload.recording()
        before, took = os.listdir("/proc/self/fd"), []
        for _ in range(20):
            start = time.thread_time()
            overhead.measure(os.environ["SCENETEST_OTEL_RUN"])
            overhead.measure(None)
            took.append((time.thread_time() - start) / 2)
        assert os.listdir("/proc/self/fd") == before
        assert min(took) < 0.005, took
        """,
        env={"SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_where_no_scratch_journal_can_be_made_it_is_unknown_and_the_rest_is_recorded(tmp_path: Path) -> None:
    process = only_process(
        record(
            """
            import os
            def nothing(*_, **__):
                raise OSError(28, "No space left on device")
            real = os.open
            os.memfd_create = nothing
            def without_nameless(path, flags, *mode):
                return nothing() if flags & os.O_TMPFILE == os.O_TMPFILE else real(path, flags, *mode)
            os.open = without_nameless
            instrument()
            with case("S", "c"), dispatch():
                pass
            """,
            tmp_path,
        )
    )
    assert (process.record.sets[0][P50], process.record.sets[0][P99]) == ("unknown", "unknown")
    assert len(process.cases[0].dispatches) == 1
