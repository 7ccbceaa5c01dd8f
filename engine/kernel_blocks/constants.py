"""Constants: parameters of a kernel whose values are known when it is compiled, as a person marks them on its block.

Another value of a constant costs a compile, whose result is cached and swapped into the running graph (CODE). In
return, loops over the constant are unrolled and branches on it removed.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import Diagnostic, warning

#: The parameter of a block that lists its constants, and its help.
CONSTANTS = "constants"
CONSTANTS_DOC = (
    "Parameters compiled into the kernel as constants, such as taps, gain; a parameter's pin adds it. Loops over a "
    "constant are unrolled, and another value compiles the kernel again."
)


def constant_names(text: str) -> list[str]:
    """Return the names in a list of constants."""
    return list(dict.fromkeys(filter(None, map(str.strip, text.replace(";", ",").split(",")))))


def marked(text: str, name: str, *, is_constant: bool, known: Collection[str]) -> str:
    """Return a list of constants with a name added or removed; names that are not `known` are removed."""
    names = [each for each in constant_names(text) if each != name and each in known]
    return ", ".join([*names, name] if is_constant else names)


def live_parameters(
    parameters: Iterable[ParameterSpec], text: str, parts: Collection[str] = ()
) -> tuple[list[ParameterSpec], tuple[Diagnostic, ...]]:
    """Return a kernel's live parameters without the constants listed in `text`, and the list's faults.

    `parts` are numbers of vectors and structs, which can't be constants.
    """
    names, specs = constant_names(text), list(parameters)
    fitting = [spec.name for spec in specs if spec.name not in parts]
    known = ", ".join(fitting) or "none"
    notes = [
        warning(
            f"{CONSTANTS} must name parameters that are passed to the kernel ({known}), got {name}"
            + (", a number of a vector or a struct" if name in parts else ""),
            port=CONSTANTS,
            remedy="make it a parameter of its own, or a macro in defines" if name in parts else "leave it out",
        )
        for name in names
        if name not in fitting
    ]
    made = [
        spec if spec.name in parts else replace(spec, can_be_constant=True, structural=spec.name in names)
        for spec in specs
    ]
    return made, tuple(notes)


def constant_values(block: Block) -> Mapping[str, float]:
    """Return the numbers that are compiled into a block's kernel, by the name of the parameter."""
    return {name: block.values[name] for name, spec in block.parameters.items() if spec.is_constant}
