"""Public functions refuse random wrong values with one clear message."""

import inspect
import random
from collections.abc import Callable, Iterator
from functools import partial
from inspect import isabstract
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pytest

import warploom
from tests.fuzzing import many, seeds
from tests.patch.test_any_arguments import ODD
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel, api
from warploom.api import Block, BlockBuilder
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.diagnostics import DeviceError, PatchError, WarploomError
from warploom.engine.patch.files import save_patch
from warploom.engine.protocol import messages
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import check_message
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.pipe import connect
from warploom.engine.runtime.engine import open_engine

#: Leaves out classes, which many functions take, and large numbers, which could be accepted and use much memory.
VALUES = [value for value in ODD if not isinstance(value, type) and not (type(value) is int and value > 3)]
#: Errors that are raised on purpose. The text of a TypeError must read like the others.
REFUSALS = (WarploomError, BlockDefinitionError, TypeError)
PLAIN = (bool, int, float, str, NoneType)


def face(module: Any) -> dict[str, Callable[..., Any]]:
    """Return public callables, except block types, other bases of classes, and objects that only the engine makes."""
    found = {name: getattr(module, name) for name in module.__all__}
    made = (BlockBuilder, api.CompositeBuilder, Engine, Patch, ProfilingLevel, UpdateLevel)
    return {
        name: value
        for name, value in found.items()
        if callable(value)
        and value not in made
        and not (isinstance(value, type) and (issubclass(value, Block) or isabstract(value)))
        and not name.startswith(("any_type",))
    }


def is_plain(hint: Any) -> bool:
    """Return whether msgspec can decide if a value has this type."""
    if get_origin(hint) is Annotated:
        return is_plain(get_args(hint)[0])
    return hint in PLAIN or (bool(get_args(hint)) and get_origin(hint) in (None, type(int | str)))


def must_be_refused(hint: Any, value: Any) -> bool:
    """Return whether msgspec, which is independent of Warploom's checks, rejects the value for this type."""
    if not is_plain(hint) or isinstance(value, np.generic) or (isinstance(value, str) and type(value) is not str):
        return False
    try:
        msgspec.convert(value, hint, strict=True)
    except (msgspec.ValidationError, OverflowError):
        return True
    except Exception:  # noqa: BLE001 - msgspec does not know this kind of type
        return False
    return False


def attempt(what: str, call: Callable[..., Any], arguments: dict[str, Any], name: str, hint: Any) -> Any:
    """Call a function with one possibly wrong value; it must return, or refuse the value with one message."""
    try:
        result = call(**arguments)
    except REFUSALS as problem:
        text = str(problem)
        assert " must " in text or " takes " in text, f"{what}({name}={arguments[name]!r:.80}): {problem!r}"
        assert len(text) < 2000, what
        return None
    except OSError:  # of the system, for a file that can't be read
        return None
    except Exception as problem:
        raise AssertionError(f"{what}({name}={arguments[name]!r:.80}) raised {problem!r}") from problem
    assert not must_be_refused(hint, arguments[name]), f"{what} took {name}={arguments[name]!r:.80}"
    return result


def parameters_of(call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return a callable's named parameters, or none for a built-in type without a known signature."""
    try:
        found = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return {}
    return {p.name: p for p in found.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def hints_of(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a callable's parameters, or none if they can't be resolved."""
    try:
        return get_type_hints(call.__init__ if isinstance(call, type) else call, include_extras=True)  # type: ignore[misc]
    except (NameError, TypeError, AttributeError):
        return {}


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in its own folder, so that relative paths lead there."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", sorted(face(api)))
def test_what_blocks_import_refuses_in_one_message(name: str) -> None:
    """Functions and records of `engine.api` refuse random values in any of their parameters with one message."""
    call, draw = face(api)[name], random.Random(name)
    known = parameters_of(call)
    for parameter in known:
        for _ in range(many(6)):
            needed = [p.name for p in known.values() if p.default is p.empty]
            arguments = {other: draw.choice(VALUES) for other in {*needed, parameter}}
            attempt(name, call, arguments, parameter, None)


def calls(tmp_path: Path) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Yield the functions that scripts call, with valid arguments."""
    patch = Patch()
    save_patch(patch, tmp_path / "good.loom")
    yield "Engine", Engine, {"patch": patch, "device": "host"}
    yield "open_engine", open_engine, {"patch": patch, "device": "host", "profiling": ProfilingLevel.NONE}
    yield "load_patch", warploom.load_patch, {"path": tmp_path / "good.loom"}
    yield "save_patch", save_patch, {"patch": patch, "path": tmp_path / "saved.loom"}
    yield "open_device", warploom.open_device, {"name": "host"}
    yield "trust_blocks", warploom.trust_blocks, {"folder": tmp_path}
    yield "forget_blocks", warploom.forget_blocks, {"folder": tmp_path}
    yield "Pacing", Pacing, {}
    yield "Pacing.fixed", Pacing.fixed, {"rate": 60.0}
    yield "Pacing.display", Pacing.display, {"rate": 60.0}


@pytest.mark.parametrize("seed", seeds(2))
def test_what_scripts_call_refuses_in_one_message(seed: int, tmp_path: Path) -> None:
    """Every function that scripts call accepts or refuses odd values for one parameter, with the others valid."""
    draw = random.Random(seed)
    for what, call, right in calls(tmp_path):
        hints = hints_of(call)
        for name in parameters_of(call):
            for _ in range(many(8)):
                made = attempt(what, call, {**right, name: draw.choice(VALUES)}, name, hints.get(name))
                if hasattr(made, "close"):
                    made.close()


@pytest.mark.parametrize("seed", seeds(2))
def test_what_an_engine_is_asked_refuses_in_one_message(seed: int) -> None:
    """Client methods refuse wrong arguments with one message, and the engine still runs afterwards."""
    draw = random.Random(seed)
    patch = Patch()
    node = patch.add("math.saxpy")
    right = {"frames": 0, "port": node["a"], "asked": (), "message": messages.Reset()}
    right |= {"node_id": "saxpy", "name": "seen", "frame": 0, "most_bytes": 1}
    methods = {
        name: method
        for name, method in inspect.getmembers(Client, inspect.isfunction)
        if not name.startswith("_") and name not in ("close", "watch_files")
    }
    with Engine(patch, "host") as client:
        right["state"] = client.read_state()
        for what, method in methods.items():
            hints = hints_of(method)
            for name in [name for name in parameters_of(method) if name != "self"]:
                needed = {n: right[n] for n, p in parameters_of(method).items() if p.default is p.empty and n != "self"}
                for _ in range(many(6)):
                    arguments = {**needed, name: draw.choice(VALUES)}
                    attempt(what, partial(method, client), arguments, name, hints.get(name))
                    client.stop()
        assert client.step().frame >= 0


@pytest.mark.parametrize("kind", get_args(messages.Message), ids=lambda kind: kind.__name__)
def test_messages_with_wrong_fields_are_refused(kind: type[msgspec.Struct]) -> None:
    """A message with a wrong field is refused when it is made or when it is checked for posting."""
    draw = random.Random(kind.__name__)
    hints = get_type_hints(kind, include_extras=True)
    for field in kind.__struct_fields__:
        for _ in range(many(20)):
            fields = {name: draw.choice(VALUES) for name in kind.__struct_fields__}
            attempt(kind.__name__, lambda made=kind, **given: check_message(made(**given)), fields, field, hints[field])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Engine(Patch(), "host", profiling="x"), PatchError, "profiling must be a ProfilingLevel, got 'x'"),  # type: ignore[arg-type]
        (lambda: Engine(Patch(), "host", time_step_s="a"), PatchError, "time_step_s must be a number above 0, got 'a'"),  # type: ignore[arg-type]
        (lambda: Engine(Patch(), "host", time_step_s=-1), PatchError, "time_step_s must be a number above 0, got -1"),
        (lambda: save_patch(3, "p.loom"), PatchError, "patch must be a Patch, got 3"),  # type: ignore[arg-type]
        (
            lambda: check_message(messages.SetFrameBudget(-5)),
            WarploomError,
            "budget_ns of SetFrameBudget must be a whole number of at least 0, got -5",
        ),
        (
            lambda: connect(Patch(), "warploom engine", time_step_s=float("nan")),
            DeviceError,
            "time_step_s must be a number above 0, got nan",
        ),
        (lambda: Pacing.fixed("fast"), WarploomError, "frame rate must be a positive number of frames a second, got"),  # type: ignore[arg-type]
    ],
)
def test_each_says_what_must_hold(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    """Each error reads "subject must rule, got value"."""
    with pytest.raises(error) as refused:
        call()
    assert str(refused.value).startswith(message)
