"""What belongs to a plan is destroyed once: by whoever uses the libraries next, or when they are closed."""

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from engine.libraries.cuda.plan import Handles


class Plan:
    """A plan that refers to itself, so that only a collection of garbage finds that it is gone."""

    def __init__(self, handles: Handles, destroyed: list[str], *names: str) -> None:
        self.itself = self
        for name in names:
            assert handles.own(self, name, destroyed.append) == name


@pytest.fixture
def handles() -> Handles:
    device: Any = SimpleNamespace(info=None)
    return Handles(device)


def test_a_collection_destroys_nothing_itself(handles: Handles) -> None:
    """It may run in any thread, also within a call of the same library."""
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
    """Plans that are found to be gone only later destroy nothing: their context may be gone as well."""
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
    """It is lent again once the borrower is gone, and destroyed with the libraries."""
    numbers, destroyed = iter(range(1, 10)), list[int]()
    lent = (lambda: next(numbers)), destroyed.append
    first, second = set[int](), set[int]()  # any object that can be gone
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
