"""Value blocks and driven parameters follow saved block files."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.catalogue.block_texts import BlockFolder, block_text
from warploom import Engine, Patch, UpdateLevel, trust_blocks
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.diagnostics import Severity


def value_text(expression: str, *, outputs: str = "value") -> str:
    """Return the text of a value block whose output is computed from its parameter `rate` and the frame."""
    return f'''from warploom.api import Moment, Value, ValueBlock, param, value_port


class Count(ValueBlock, id="live.count"):
    """Count."""

    {outputs}: Value[float] = value_port(doc="A number.")
    rate: float = param(1.0, doc="A factor.")

    def update(self, now: Moment) -> None:
        """Each frame."""
        self.{outputs} = {expression}
'''


class Driven:
    """An array that is scaled by the output of a value block."""

    def __init__(self, folder: BlockFolder) -> None:
        self.folder = folder
        folder.write("scale.py", block_text())
        folder.write("count.py", value_text("10.0 * self.rate"))
        assert trust_blocks(folder.path) == []
        self.patch = Patch()
        x = self.patch.add("io.array", data=np.ones(2, np.float32))
        self.scale = self.patch.add("live.scale", gain=5.0)
        self.count = self.patch.add("live.count", rate=2.0)
        self.patch.connect(x["out"], self.scale["x"])
        self.drive = self.patch.connect(self.count["value"], self.scale["gain"])
        self.engine = Engine(self.patch, device="host")

    def save(self, name: str, text: str) -> None:
        """Write a file and wait until it is loaded."""
        block_folders.reload([self.folder.write(name, text)]).result()

    def out(self) -> float:
        """Run two frames, the second of which applies what the first one loaded, and return the first number."""
        self.engine.step()
        self.report = self.engine.step()
        return float(self.engine.read(self.scale["out"])[0])


@pytest.fixture
def driven(folder: BlockFolder) -> Iterator[Driven]:
    """A patch whose engine is closed at the end."""
    made = Driven(folder)
    yield made
    made.engine.close()


def test_a_value_block_is_replaced_without_a_rebuild(driven: Driven) -> None:
    """A new version of a value block is at most a HOT update, and keeps parameters and connections."""
    assert driven.out() == 20
    driven.save("count.py", value_text("30.0 * self.rate"))
    assert driven.engine.step().update_level <= UpdateLevel.HOT
    assert driven.out() == 60


def test_a_value_block_that_fails_goes_on_as_it_was(driven: Driven) -> None:
    """A failing value block shows its error and runs its last version until its code is fixed."""
    assert driven.out() == 20
    driven.save("count.py", "1 / 0\n" + value_text("7.0"))
    assert driven.out() == 20
    (problem,) = driven.report.diagnostics
    assert (problem.node, problem.severity, problem.line) == (driven.count.id, Severity.ERROR, 1)
    driven.save("count.py", value_text("7.0"))
    assert driven.out() == 7
    assert driven.report.diagnostics == ()


def test_a_driven_block_is_replaced_and_driven_on(driven: Driven) -> None:
    """A new version of a driven block is driven too, and keeps the parameter's own value for a later disconnection."""
    assert driven.out() == 20
    driven.save("scale.py", block_text(factor="self.gain", extra='more: float = param(3.0, doc="More.")'))
    assert driven.out() == 20
    driven.patch.disconnect(driven.drive)
    assert driven.out() == 5


ANEW = """build.launch(
            Kernel("scale.cu", "scale"), num_threads=self.out.size, args=(self.x, self.out, self.gain, self.out.size)
        )"""


def test_every_frame_of_a_replaced_block_is_driven(driven: Driven) -> None:
    """The first launch of a new graph uses the driven value, not the patch's, whether a step or the worker built it."""
    assert driven.out() == 20
    engine, port = driven.engine.core, driven.scale["out"]
    driven.save("scale.py", block_text(describe=ANEW))
    assert driven.engine.step().update_level is UpdateLevel.COLD
    assert driven.engine.read(port)[0] == 20
    driven.save("scale.py", block_text())
    level = UpdateLevel.NONE
    while level is not UpdateLevel.COLD:
        level = engine.frame(free_running=True).update_level
        assert engine.results.read(port)[0] == 20


def test_the_stored_value_of_a_driven_parameter_survives_new_versions(driven: Driven) -> None:
    """A value that is set on a driven parameter, before or after a new version, applies once the drive is removed."""
    for connect, number in ((driven.patch.reset, 7.0), (None, 8.0)):
        if connect is not None:
            connect(driven.scale, "gain")
            assert driven.out() == 20
            driven.patch.set(driven.scale, gain=number)
        driven.save("scale.py", block_text(extra=f'more: float = param({number}, doc="More.")'))
        if connect is None:
            driven.patch.set(driven.scale, gain=number)
        assert driven.out() == 20
        driven.patch.disconnect(driven.drive)
        assert driven.out() == number
        driven.patch.connect(driven.drive.source, driven.drive.target)


def test_a_driven_parameter_that_was_reset_has_the_default_of_a_new_version(driven: Driven) -> None:
    """A driven parameter that was reset gets the new version's default once the drive is removed."""
    assert driven.out() == 20
    driven.patch.reset(driven.scale, "gain")
    driven.save("scale.py", block_text(gain="9.0, min=-100, max=100"))
    assert driven.out() == 20
    driven.patch.disconnect(driven.drive)
    assert driven.out() == 9


def test_a_driven_parameter_gets_back_what_a_version_between_did_not_take(driven: Driven) -> None:
    """A value outside a version's bounds is reported, and applies again with the next version that includes it."""
    assert driven.out() == 20
    driven.save("scale.py", block_text(gain="1.0, min=-1, max=1"))
    assert driven.out() == 1
    assert {item.severity for item in driven.report.diagnostics} == {Severity.ERROR, Severity.WARNING}
    driven.save("scale.py", block_text())
    assert driven.out() == 20
    assert driven.report.diagnostics == ()
    driven.patch.disconnect(driven.drive)
    assert driven.out() == 5


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_drive_whose_end_is_gone_dangles(driven: Driven, end: str) -> None:
    """A drive without source or target is a warning and is ignored; it works again once both ends are back."""
    assert driven.out() == 20
    if end == "source":
        driven.save("count.py", value_text("7.0", outputs="other"))
        assert driven.out() == 5
    else:
        driven.save("scale.py", block_text().replace("gain: float", "amount: float").replace(".gain", ".amount"))
        assert driven.out() == 1
    problems = driven.report.diagnostics  # a removed parameter's value is reported too
    assert {(p.node, p.port, p.severity) for p in problems} == {(driven.scale.id, "gain", Severity.WARNING)}
    assert len([p for p in problems if "delete the connection" in p.remedy]) == 1
    driven.save("count.py", value_text("10.0 * self.rate"))
    driven.save("scale.py", block_text())
    assert driven.out() == 20
    assert driven.report.diagnostics == ()
    driven.patch.disconnect(driven.drive)
    assert driven.out() == 5


def test_a_port_that_becomes_a_parameter_is_driven(driven: Driven) -> None:
    """A connection that carried a buffer carries a value after new versions of the blocks at its ends."""
    driven.save("count.py", block_text("live.count", source="rate", out="value"))
    driven.engine.step()
    driven.save("count.py", value_text("10.0 * self.rate"))
    assert driven.out() == 20
    assert driven.report.diagnostics == ()
