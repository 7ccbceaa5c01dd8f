"""A call that raises, or does not return, loses its own result only."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from warploom.engine.user_code.limits import TimeLimits, TookTooLong
from warploom.engine.user_code.runner import CodeRunner

#: A short limit for code that never returns, and a long one for code that does, since the machine may be busy.
SHORT, LONG = TimeLimits(0.1, 1.0), TimeLimits(600.0, 600.0)


@pytest.fixture
def runner() -> Iterator[CodeRunner]:
    """A runner that is closed when the test ends."""
    with closing(CodeRunner(LONG)) as made:
        yield made


def rule(problem: BaseException) -> str:
    """Return the rule that a call broke; a problem of another kind fails the test."""
    assert isinstance(problem, TookTooLong)
    return problem.rule


def _loop() -> str:
    while True:
        pass


def _sleep() -> str:
    while True:
        time.sleep(0.01)


@pytest.mark.parametrize("call", [_loop, _sleep])
def test_a_call_that_never_returns_is_stopped(runner: CodeRunner, call: Callable[[], str]) -> None:
    """Code is stopped whether it computes or waits, and its thread makes the next call."""
    first = runner.run(threading.get_ident, rule, ours=False)
    runner.limits = SHORT
    assert runner.run(call, rule, ours=False) == "finish within 0.1 s"
    runner.limits = LONG
    assert runner.run(threading.get_ident, rule, ours=False) == first


def test_a_call_that_cannot_be_stopped_is_abandoned(runner: CodeRunner) -> None:
    """Another thread makes the next call; the abandoned thread ends when its own call returns."""
    end = threading.Event()
    stubborn: list[threading.Thread] = []

    def ignore_all() -> str:
        stubborn.append(threading.current_thread())
        while not end.is_set():
            with suppress(BaseException):
                end.wait(0.01)
        return "too late"

    runner.limits = SHORT
    assert runner.run(ignore_all, rule, ours=False) == "finish within 0.1 s"
    runner.limits = LONG
    assert runner.run(threading.current_thread, rule, ours=False) is not stubborn[0]
    end.set()
    stubborn[0].join()


def test_the_stack_says_where_the_call_was(runner: CodeRunner) -> None:
    """The innermost frames of the reported stack are those of the code that was stopped."""
    runner.limits = SHORT
    problem = runner.run(_loop, lambda problem: problem, ours=False)
    assert isinstance(problem, TookTooLong)
    assert problem.stack[-1].name == "_loop"


@pytest.mark.parametrize("problem", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_call_raises_is_its_result(runner: CodeRunner, problem: BaseException) -> None:
    """`failed` turns an exception into the call's result."""

    def fail() -> None:
        raise problem

    assert runner.run(fail, lambda raised: raised, ours=False) is problem
    assert runner.begin(fail, lambda raised: raised).result() is problem


def test_a_call_that_has_begun_holds_up_no_other(runner: CodeRunner) -> None:
    """While one call is slow, other calls return, and the slow call's result follows."""
    end = threading.Event()
    call = runner.begin(lambda: end.wait() and "done", rule)
    assert call.result(0.0) is None
    assert runner.run(lambda: "other", rule, ours=False) == "other"
    end.set()
    assert call.result() == "done"


def test_a_closed_runner_makes_no_calls(runner: CodeRunner) -> None:
    """A closed runner reports that it is closed instead of returning a result."""
    runner.close()
    assert runner.run(_loop, rule, ours=False) == "finish before the engine is closed"


def test_only_the_running_thread_is_the_runners_own(runner: CodeRunner) -> None:
    """Code that would wait for the runner can ask whether it already runs on the runner's thread."""
    assert not runner.is_running_here
    assert runner.run(lambda: runner.is_running_here, rule, ours=False) is True
