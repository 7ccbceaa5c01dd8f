"""Every device by its name, and counts of the devices' work."""

from collections.abc import Iterator

import pytest

from warploom.engine.tensor_runtime.lazy.devices import close_devices
from warploom.engine.tensor_runtime.program import Program


@pytest.fixture(params=["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def on(request: pytest.FixtureRequest) -> str:
    """The name of a device."""
    name: str = request.param
    return name


@pytest.fixture(scope="module", autouse=True)
def closes_devices() -> Iterator[None]:
    """Close the devices that the tests of a file have opened."""
    yield
    close_devices()


class Work:
    """The number of programs that were made, and of launches."""

    def __init__(self) -> None:
        self.made = self.launched = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts of programs and launches during the test."""
    counted = Work()
    make, run = Program.__init__, Program.run

    def count_made(program: Program, *args: object, **options: object) -> None:
        counted.made += 1
        make(program, *args, **options)  # type: ignore[arg-type]

    def count_launched(program: Program, *args: object, **options: object) -> None:
        counted.launched += 1
        run(program, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Program, "__init__", count_made)
    monkeypatch.setattr(Program, "run", count_launched)
    return counted
