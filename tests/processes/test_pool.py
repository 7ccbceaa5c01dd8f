"""Functions run in processes that can be killed, that may die, and that end with the program."""

import contextvars
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.processes import jobs
from tests.waiting import until
from warploom import engine
from warploom.engine.diagnostics import CompilerCrash, KernelError, TranslatorBug
from warploom.engine.processes import pool
from warploom.engine.processes.limits import Limits, Usage
from warploom.engine.processes.pool import run, run_in_background
from warploom.engine.processes.scope import Cancelled, CancelScope

ROOT = Path(engine.__file__).parents[1]


def is_running(process: int) -> bool:
    """Return whether a process still runs. A zombie counts only until its last thread has ended."""
    folder = Path(f"/proc/{process}")
    try:
        has_threads = len(list((folder / "task").iterdir())) > 1
        return has_threads or (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def started(path: Path) -> int:
    """Wait for a hanging job to begin, and return its process id."""
    until(path.exists)
    return int(path.read_text())


def test_a_function_runs_elsewhere_and_returns() -> None:
    """A function runs in another process and may print, and the next job runs in the same process."""
    assert run(jobs.add, 2, 3) == 5
    first = run(jobs.number)
    assert first != os.getpid()
    assert run(jobs.number) == first


def test_exceptions_arrive_as_they_were_raised() -> None:
    """Exceptions keep file, line and cause; one that can't be sent arrives as text. The process continues."""
    process = run(jobs.number)
    with pytest.raises(KernelError, match="kernel must be right") as refused:
        run(jobs.refuse)
    assert (refused.value.file, refused.value.line) == ("k.cu", 7)
    assert "in refuse" in str(refused.value.__cause__)
    with pytest.raises(TranslatorBug, match="a register is left"):
        run(jobs.fail)
    with pytest.raises(RuntimeError, match="1 and 2"):
        run(jobs.raise_odd)
    assert run(jobs.number) == process


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGTERM])
def test_a_process_that_dies_is_an_error_and_not_the_end(number: signal.Signals) -> None:
    """A process that dies is an error that names the signal, and the next job runs in another process."""
    with pytest.raises(CompilerCrash, match=f"got its end by {number.name}") as crash:
        run(jobs.die, number)
    assert ("memory runs out" in str(crash.value)) == (number == signal.SIGKILL)
    assert run(jobs.add, 1, 1) == 2


def test_a_process_that_ends_by_itself_is_an_error() -> None:
    """A process that ends by itself during a job is an error; one that ends while idle is replaced."""
    with pytest.raises(CompilerCrash, match="exit status 3"):
        run(jobs.leave)
    process = run(jobs.number)
    os.kill(process, signal.SIGKILL)
    until(lambda: not is_running(process))
    assert run(jobs.number) != process


@pytest.mark.parametrize("hang", [jobs.hang, jobs.hang_with_interpreter])
def test_cancelled_jobs_are_killed(tmp_path: Path, hang: Callable[[Path], None]) -> None:
    """Cancelling a scope kills its jobs and those of inner scopes, and the scope refuses later calls."""
    outer, inner, path = CancelScope(), CancelScope(), tmp_path / "started"

    def work() -> None:
        with outer.entered(), inner.entered():
            run(hang, path)

    with ThreadPoolExecutor(1) as thread:
        waiting: Future[None] = thread.submit(work)
        process = started(path)
        outer.cancel()
        with pytest.raises(Cancelled):
            waiting.result()
        assert not is_running(process)
        with pytest.raises(Cancelled), outer.entered():
            run(jobs.add, 1, 1)
    inner.check()
    assert run(jobs.add, 1, 1) == 2


def test_several_run_at_once_and_only_one_is_cancelled(tmp_path: Path) -> None:
    """Of several jobs at once, only those in the cancelled scope end; threads started with the context are in it."""
    scopes = [CancelScope() for _ in range(3)]
    paths = [tmp_path / str(index) for index in range(3)]
    with ThreadPoolExecutor(3) as threads:
        waiting = []
        for scope, path in zip(scopes, paths, strict=True):
            with scope.entered():
                waiting.append(threads.submit(contextvars.copy_context().run, run, jobs.hang, path))
        processes = [*map(started, paths)]
        assert len(set(processes)) == 3
        scopes[1].cancel()
        assert isinstance(waiting[1].exception(), Cancelled)
        assert [*map(is_running, processes)] == [True, False, True]
        scopes[0].cancel()
        scopes[2].cancel()
    assert not any(map(is_running, processes))


def test_while_a_job_takes_long_another_process_is_made_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """While one job takes long, a second process is warmed up, so a newer edit needn't wait for a start."""
    monkeypatch.setattr(pool, "LONG_S", 0.01)
    own, scope = pool.WorkerPool(), CancelScope()
    monkeypatch.setattr(pool, "_pool", own)
    with ThreadPoolExecutor(1) as thread, scope.entered():
        thread.submit(contextvars.copy_context().run, run, jobs.hang, tmp_path / "started")
        until(lambda: own._idle)
        (ready,) = own._idle
        scope.cancel()
    assert run(jobs.number) == ready.pid
    own.close()
    with pytest.raises(Cancelled):
        run(jobs.number)


def test_a_job_in_the_background_leaves_a_process_to_those_who_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A background job starts a second process if only one is idle; of several, it takes the one idle for longest."""
    own = pool.WorkerPool()
    monkeypatch.setattr(pool, "_pool", own)
    first = run(jobs.number)
    second = run_in_background(jobs.number)
    assert second != first
    assert run(jobs.number) == second
    assert run_in_background(jobs.number) == first
    scope = CancelScope()
    with ThreadPoolExecutor(1) as thread, scope.entered():
        thread.submit(contextvars.copy_context().run, run_in_background, jobs.hang, tmp_path / "started")
        assert started(tmp_path / "started") == second
        assert [run(jobs.number) for _ in range(3)] == [first] * 3
        scope.cancel()
    own.close()


@pytest.mark.parametrize(
    ("limits", "job", "got"),
    [
        (Limits(computing_s=0.2), jobs.compute_for_ever, "more time"),
        (Limits(total_s=0.2), jobs.hang, "more time"),
        (Limits(memory_bytes=200 << 20), jobs.eat_memory, "more memory"),
    ],
)
def test_a_job_over_a_limit_is_killed_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limits: Limits, job: Callable[[Path], None], got: str
) -> None:
    """A job over a limit is an error that says so, jobs beside it are not affected, and it isn't begun again."""
    own, path = pool.WorkerPool(), tmp_path / "started"
    monkeypatch.setattr(pool, "_pool", own)
    with ThreadPoolExecutor(1) as thread:
        beside = thread.submit(run, jobs.add_when, tmp_path / "begun", tmp_path / "go", 1, 2)
        started(tmp_path / "begun")
        process = run(jobs.number)  # the limits end its next job, maybe before that does anything
        monkeypatch.setattr(Limits, "chosen", lambda: limits)
        with pytest.raises(CompilerCrash, match=rf"within .* s and .* GB, got {got}") as problem:
            run(job, path)
        assert "WARPLOOM_COMPILE_" in (problem.value.remedy or "")
        assert not is_running(process)
        path.unlink(missing_ok=True)
        with pytest.raises(CompilerCrash, match=got):
            run(job, path)
        assert not path.exists()
        (tmp_path / "go").touch()
        assert beside.result() == 3
    own.close()


@given(
    st.builds(Usage, st.floats(0, 100), st.integers(0, 1 << 40)),
    st.builds(Usage, st.floats(0, 100), st.integers(0, 1 << 40)),
    st.floats(0, 1000),
)
def test_a_limit_is_what_its_message_says(before: Usage, now: Usage, spent_s: float) -> None:
    """A job is over its limits exactly when it computed or took too long, or has too much memory, and one is named."""
    limits = Limits()
    late = now.computed_s - before.computed_s > limits.computing_s or spent_s > limits.total_s
    large = now.memory_bytes > limits.memory_bytes
    found = limits.excess(before, now, spent_s)
    assert (found is not None) == (late or large)
    if found is not None:
        assert ("COMPILE_S" in found.remedy, "more time" in found.message) == (late, late)


@pytest.mark.parametrize(("text", "seconds"), [("60", 60.0), ("", 30.0), ("soon", 30.0), ("-1", 1.0), ("nan", 30.0)])
def test_a_person_sets_the_limits(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    """The environment may hold other limits; a text that isn't a number counts as none."""
    monkeypatch.setenv("WARPLOOM_COMPILE_S", text)
    assert Limits.chosen().computing_s == seconds


PROGRAM = """
import sys, threading
from pathlib import Path
from warploom.engine.processes.pool import run, run_in_background
from tests.processes import jobs
thread = threading.Thread(target=run, args=(jobs.hang, Path({path!r})))
thread.start()
assert run(jobs.add, 1, 2) == 3
while not Path({path!r}).exists(): pass
{then}
"""


@pytest.mark.parametrize(
    ("how", "then", "status"),
    [
        ("-c", "", 0),
        ("file", "sys.exit(1)", 1),
        ("-c", "raise KeyboardInterrupt", -signal.SIGINT),
        ("file", "import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_processes_end_with_the_program(tmp_path: Path, how: str, then: str, status: int) -> None:
    """Workers end even if the program has no main guard, ends during a compile, or is killed."""
    path, file = tmp_path / "started", tmp_path / "program.py"
    text = f"import sys; sys.path.append({str(ROOT)!r})\n" + PROGRAM.format(path=str(path), then=then)
    file.write_text(text)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(file)] if how == "file" else [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, done.stderr
    until(lambda: not is_running(started(path)))


KILLED = """
import os, sys, threading, time
from pathlib import Path
from warploom.engine.processes import pool
from tests.processes import jobs
threading.Thread(target=pool.run, args=(jobs.{job}, Path({path!r}))).start()
while not Path({path!r}).exists(): time.sleep(0.01)
{then}
os.kill(os.getpid(), 9)
"""
#: Reasons why a worker's standard input may stay open although the parent has ended.
UNTOLD = {
    "another process has the pipe": ("hang", "if os.fork() == 0: time.sleep(20); os._exit(0)"),
    "native code holds the interpreter": ("hang_in_native_code", ""),
    "the parent was writing": (
        "hang",
        "worker, = pool._pool._busy; worker._process.stdin.raw.write(b'\\x80\\x05\\x95')",
    ),
}


@pytest.mark.parametrize("why", UNTOLD)
def test_a_process_ends_when_its_parent_is_killed(tmp_path: Path, why: str) -> None:
    """A worker ends whenever its parent is killed, even if other processes hold the pipe."""
    path = tmp_path / "started"
    job, then = UNTOLD[why]
    text = KILLED.format(job=job, path=str(path), then=then)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, check=False, stderr=subprocess.DEVNULL)
    assert done.returncode == -signal.SIGKILL
    until(lambda: not is_running(started(path)))


def test_a_process_lives_on_when_the_thread_that_asked_for_it_ends() -> None:
    """The next job, from another thread, runs in the same process."""
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(run, jobs.number).result()
    assert is_running(first)
    assert run(jobs.number) == first


def test_threads_of_a_program_share_the_processes() -> None:
    """Two hundred jobs from several threads each return their own result."""
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(run, [jobs.add] * 200, range(200), range(200))] == [*range(0, 400, 2)]


def test_warnings_of_a_process_are_logged_here(caplog: pytest.LogCaptureFixture) -> None:
    """Logged warnings carry the process id, also if the function raises; the next job's warnings don't repeat them."""
    with pytest.raises(KernelError):
        run(jobs.log_and_fail)
    (reported,) = (record for record in caplog.records if record.name == "warploom.tested")
    assert (reported.levelname, reported.getMessage()) == ("WARNING", "cache c cannot be written")
    assert reported.process != os.getpid()
    caplog.clear()
    run(jobs.add, 1, 2)
    assert not caplog.records
