"""Numbers as the canvas shows them and as parameters take them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.sample_blocks import make_report
from warploom.api import Moment, Value, ValueBlock, param, value_port
from warploom.app.edits import compatible
from warploom.app.edits.compatible import spanning
from warploom.app.view_models.connection_preview import update_cost_text
from warploom.app.view_models.live_values import NOTHING, WIDEST, LiveValue, frame_text, number_text
from warploom.app.view_models.tooltips import connection_tooltip, port_tooltip
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import Catalogue, default_catalogue
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import EditCost, NodeReport, NodeState, UpdateLevel
from warploom.engine.user_code.limits import TimeLimits
from warploom.engine.user_code.runner import CodeRunner


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [
        (0.0, "float", "0.000"),
        (-0.0, "float", "0.000"),
        (-0.0004, "float", "0.000"),
        (0.4242, "float", "0.424"),
        (9.9996, "float", "10.00"),
        (99.996, "float", "100.0"),
        (-1234.56, "float", "-1234.6"),
        (12345.6, "float", "12346"),
        (999_999.6, "float", "1.0e6"),
        (-2.5e12, "float", "-2.5e12"),
        (float("nan"), "float", "nan"),
        (float("-inf"), "float", "-inf"),
        (12.0, "int", "12"),
        (1.0, "bool", "on"),
        (0.0, "bool", "off"),
    ],
)
def test_numbers_are_written_in_few_digits(value: float, type: str, text: str) -> None:
    """A number is written with few digits, and zero without a sign."""
    assert number_text(value, type) == text


@given(st.floats(-99_999, 99_999), st.sampled_from(["float", "int"]))
def test_a_number_fits_its_place_and_is_close_to_the_value(value: float, type: str) -> None:
    """Usual numbers fit their place, and the shown number is off by at most half of its last digit."""
    text = number_text(round(value) if type == "int" else value, type)
    assert len(text) <= len(WIDEST)
    digits = len(text.partition(".")[2])
    assert abs(float(text) - (round(value) if type == "int" else value)) <= 0.5000001 * 10**-digits


def test_a_value_that_was_not_reported_is_a_dash() -> None:
    """A value that was not reported is shown as a dash."""
    assert LiveValue("a.b", "float").text({}) == NOTHING


@pytest.mark.parametrize("name", ["lfo", "slider", "ramp", "random"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 64.0), (5.0, 5.0)])
def test_a_new_value_block_keeps_to_the_range_of_its_parameter(name: str, low: float, high: float) -> None:
    """For 200 frames, a new value block stays within its parameter's range, and moves unless it is a slider."""
    block_type = default_catalogue().require(f"value.{name}")
    spec = ParameterSpec("gain", "float", low, "A gain.", low, high)
    block = block_type("new", spanning(block_type, spec, (low + high) / 2))
    block.begin()
    seen = []
    for frame in range(200):
        block.update(Moment(frame, frame / 60, 1 / 60))
        seen.append(block.value)
    assert low - 1e-9 <= min(seen) and max(seen) <= high + 1e-9
    assert name == "slider" or low == high or max(seen) - min(seen) > (high - low) / 6


def test_tooltips_tell_the_last_value_and_what_drives() -> None:
    """The tooltips of an output, a parameter and their connection show the last value, or that there is none yet."""
    patch = Patch(Catalogue())
    patch.add("test_canvas.wave", node_id="wave", title="Tide")
    patch.add("test_canvas.blend", node_id="blend", steps=5)
    source, target = PortRef("wave", "value"), PortRef("blend", "steps")
    connection = patch.connect(source, target)
    report = make_report(values={"wave.value": 12.25, "blend.steps": 9})
    assert port_tooltip(patch, source, report).splitlines() == [
        "value: number",
        "value output",
        "The number.",
        "12.25 m",
    ]
    assert port_tooltip(patch, target, report).splitlines() == [
        "steps: whole number parameter",
        "1 to 9 px, Default: 3 px",
        "How many.",
        "Driven by Tide · value (wave.value)",
        "9 px",
        "Without the connection: 5 px",
    ]
    assert connection_tooltip(patch, connection, report).splitlines() == [
        "wave.value → blend.steps",
        "12.25 m",
        "arrives as 9",
    ]
    assert connection_tooltip(patch, connection, None).endswith("No value yet.")


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (EditCost(UpdateLevel.NONE, "", 0), "Costs nothing"),
        (EditCost(UpdateLevel.HOT, ""), "Parameter write"),
        (EditCost(UpdateLevel.HOT, "", at_most=True), "Parameter write"),
        (EditCost(UpdateLevel.CODE, "", 12_000), "Function swap, about 12.0 µs"),
        (EditCost(UpdateLevel.COLD, "", 3_100_000), "Rebuild, about 3.10 ms"),
        (EditCost(UpdateLevel.COLD, "", 3_100_000, at_most=True), "At most: rebuild, about 3.10 ms"),
    ],
)
def test_a_cost_is_written_in_words(cost: EditCost, text: str) -> None:
    """The text of a cost states the level and, if known, how long recent updates of that kind took."""
    assert update_cost_text(cost) == text


def _loop() -> dict[str, float]:
    while True:
        pass


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (lambda: 1 / 0, "spanning of test_app.says raised ZeroDivisionError"),
        (lambda: exit(), "spanning of test_app.says raised SystemExit"),
        (_loop, r"spanning of test_app.says must finish within 0\.1 s"),
        (lambda: 5, "spanning of test_app.says raised AttributeError"),
        (lambda: {"nothing": 5.0}, "parameter must be one of low, got 'nothing'"),
        (lambda: {"low": None}, "spanning of test_app.says raised TypeError"),
    ],
)
def test_a_wrong_range_of_a_block_is_reported_and_stops_nothing(
    says: Callable[[], Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in a block's own code for its range is a PatchError."""
    monkeypatch.setattr(compatible, "CodeRunner", partial(CodeRunner, TimeLimits(0.1, 1.0)))

    class Says(ValueBlock, id="test_app.says"):
        """Return the value that the test has set."""

        value: Value[float] = value_port(doc="A number.")
        low: float = param(0.0, min=0, max=1, doc="A bound.")

        @classmethod
        def spanning(cls, low: float, high: float, value: float) -> dict[str, Any]:
            return says()  # type: ignore[no-any-return]

        def update(self, now: Moment) -> None:
            """Do nothing."""

    with pytest.raises(PatchError, match=message):
        spanning(Says, ParameterSpec("gain", "float", 0.0, "A gain."), 0.5)


def test_a_driven_parameter_names_the_frame_of_its_number() -> None:
    """In the inspector and in the tooltip: this frame, or how many frames ago; nothing for values of no buffer."""
    patch = Patch()
    value, target = PortRef("number", "value"), PortRef("scale", "offset")
    patch.add("value.from_buffer", node_id="number")
    patch.add("math.scale_offset", node_id="scale")
    patch.connect(value, target)
    for age, this_frame, text in ((0, (), "0 frames old"), (1, (), "1 frame old"), (2, ("offset",), "this frame")):
        node = NodeReport("math.scale_offset", NodeState.OK, this_frame=this_frame)
        report = make_report(nodes={"scale": node}, values={"number.age": float(age)})
        assert frame_text(report, value, target) == text
        assert f"(number.value), {text}" in port_tooltip(patch, target, report)
    assert frame_text(make_report(), value, target) == ""
