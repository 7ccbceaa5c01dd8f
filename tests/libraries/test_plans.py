"""A plan's resources are destroyed once: by the next use of the libraries, or when the libraries are closed."""

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from warploom.engine.libraries.cuda.plan import Handles


class Plan:
    """A plan in a reference cycle, which only the garbage collector can free."""

    def __init__(self, handles: Handles, destroyed: list[str], *names: str) -> None:
        self.itself = self
        for name in names:
            assert handles.own(self, name, destroyed.append) == name


@pytest.fixture
def handles() -> Handles:
    device: Any = SimpleNamespace(info=None)
    return Handles(device)


def test_a_collection_destroys_nothing_itself(handles: Handles) -> None:
    """Garbage collection destroys no resources, since it may run in any thread, even during a call of the library."""
    destroyed: list[str] = []
    plan = Plan(handles, destroyed, "a", "b")
    kept = Plan(handles, destroyed, "c")
    handles.sweep()
    del plan
    gc.collect()
    assert destroyed == []
    handles.sweep()
    assert sorted(destroyed) == ["a", "b"]
    handles.sweep()
    assert len(destroyed) == 2
    assert kept.itself is kept


def test_closing_destroys_what_is_left_before_the_handles(handles: Handles) -> None:
    """A plan that is collected after the libraries closed destroys nothing, since its context may be gone."""
    destroyed: list[str] = []
    handles.get(lambda: "handle", destroyed.append)
    plan, other = Plan(handles, destroyed, "a"), Plan(handles, destroyed, "b")
    del other
    gc.collect()
    handles.close()
    assert sorted(destroyed[:2]) == ["a", "b"]
    assert destroyed[2:] == ["handle"]
    del plan
    gc.collect()
    assert len(destroyed) == 3


def test_a_handle_is_lent_to_one_borrower_at_a_time(handles: Handles) -> None:
    """A handle is lent again once its borrower is gone, and is destroyed with the libraries."""
    numbers, destroyed = iter(range(1, 10)), list[int]()
    lent = (lambda: next(numbers)), destroyed.append
    first, second = set[int](), set[int]()  # set objects can be weakly referenced
    assert handles.lend(first, lent) == 1
    assert handles.lend(second, lent) == 2
    del first
    handles.sweep()
    third = set[int]()
    assert handles.lend(third, lent) == 1
    assert destroyed == []
    handles.close()
    assert sorted(destroyed) == [1, 2]
    del second, third
    gc.collect()
    assert len(destroyed) == 2
