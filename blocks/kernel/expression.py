from collections.abc import Mapping
from typing import Any

from warploom.api import ComputeBlock, Interface, expression_interface, param


class Expression(
    ComputeBlock,
    id="kernel.expression",
    tags=(
        "formula",
        "math",
        "shader",
        "wrangle",
        "code",
        "evaluate",
        "absolute",
        "threshold",
        "normalize",
        "subtract",
        "minus",
        "difference",
        "divide",
        "division",
        "power",
        "square root",
        "negate",
        "derivative",
    ),
):
    """Computes each element by a formula, such as `sin(x*freq + time) * amp`.

    A name is an input, or one of `time` (in seconds), `frame`, `i` (index of the element), `px` and `py` (its pixel
    position in an image), `u` and `v` (the same from 0 to 1), `pi` and `tau`. Every other name becomes a slider.
    Write `a if x > 0 else b` for a choice, `vec(r, g, b, 1)` for a colour, `image.x` for a component, and `name =
    ...` on its own line for an intermediate result. `int(x)`, `float(x)` and `bool(x)` convert numbers. Without
    inputs, sliders set the size of the output, which is an image if the formula uses `u` or `v`. `min`, `max` and
    `clamp` of a NaN are NaN. `sample(image, x, y)` interpolates between pixels at a position from 0 to 1. Settings
    of a function follow by name: `sample(image, u * 2, v, boundary="wrap")`, `gradient_noise(u * 9, v * 9, time,
    dimensions=3)`.
    """

    expression: str = param("x * gain", language="expression", doc="The formula; its last line is the result.")
    reads: str = param("x", doc="Names of inputs; an element type other than f32 follows a colon: x, image: float4.")
    sliders: str = param("", doc="Ranges and defaults of sliders, such as freq: 0..20 = 4; amp: 0..1.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the inputs, a slider for each unknown name, and the output."""
        return expression_interface(values["expression"], values["reads"], values["sliders"], values["constants"])
