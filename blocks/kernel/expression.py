from collections.abc import Mapping
from typing import Any

from engine.api import GraphBlock, Interface, expression_interface, param


class Expression(GraphBlock, id="kernel.expression", tags=("formula", "math", "shader", "wrangle", "code", "evaluate")):
    """Compute each element by a formula, such as `sin(x*freq + time) * amp`.

    The inputs go by their names; `time`, `frame`, `i` (the element's number), `px`, `py`, `u`, `v` (its place in an
    image), `pi` and `tau` are known, and every other name becomes a slider. Write `a if x > 0 else b` to choose,
    `vec(r, g, b, 1)` for a colour, `image.x` for a component, and `name = ...` on lines of their own for parts. Without
    inputs, sliders give the size, and `u` and `v` make it an image. `min`, `max` and `clamp` of a NaN are NaN.
    """

    expression: str = param("x * gain", language="expression", doc="The formula; its last line is the result.")
    reads: str = param("x", doc="Names of inputs, each with its element type unless that is f32: x, image: float4.")
    sliders: str = param("", doc="Ranges and defaults of sliders, such as freq: 0..20 = 4; amp: 0..1.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The inputs, a slider for each unknown name, and the result."""
        return expression_interface(values["expression"], values["reads"], values["sliders"], values["constants"])
