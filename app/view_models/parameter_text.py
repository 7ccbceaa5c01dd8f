"""A parameter's declaration as text: its range, unit and default; parameters that block types have in common."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec


def parameter_facts(spec: ParameterSpec) -> list[str]:
    """Return range, choices, default and the cost of a change, each in a few words."""
    unit = f" {spec.unit}" if spec.unit else ""
    facts = []
    if spec.minimum is not None and spec.maximum is not None:
        facts.append(f"{_number(spec.minimum)} to {_number(spec.maximum)}{unit}")
    elif spec.minimum is not None:
        facts.append(f"At least {_number(spec.minimum)}{unit}")
    elif spec.maximum is not None:
        facts.append(f"At most {_number(spec.maximum)}{unit}")
    if spec.choices:
        facts.append(f"One of {', '.join(spec.choices)}")
    if spec.type not in ("array", "external"):
        facts.append(f"Default: {value_text(spec.default)}{unit}")
    if spec.is_constant:
        facts.append("Compiled into the kernel: another value compiles the kernel again")
    elif spec.structural:
        facts.append("Changing it may rebuild the patch")
    return facts


def common_parameters(types: Sequence[type[Block] | None]) -> list[ParameterSpec]:
    """Return the parameters that block types have in common, with the values that all of them take."""
    first, *others = [block_type.parameters if block_type is not None else {} for block_type in dict.fromkeys(types)]
    if not others:
        return [spec for spec in first.values() if spec.type != "object"]
    return [made for spec in first.values() if (made := _in_common(spec, [o.get(spec.name) for o in others]))]


def _in_common(spec: ParameterSpec, others: Sequence[ParameterSpec | None]) -> ParameterSpec | None:
    specs = [spec, *(other for other in others if other is not None)]
    kinds = {(each.type, each.choices, each.files, each.language, each.unit) for each in specs}
    if len(specs) <= len(others) or len(kinds) > 1 or spec.type == "object":
        return None
    low = max((each.minimum for each in specs if each.minimum is not None), default=None)
    high = min((each.maximum for each in specs if each.maximum is not None), default=None)
    if low is not None and high is not None and low > high:
        return None
    structural = any(each.structural for each in specs)
    return replace(spec, minimum=low, maximum=high, structural=structural, can_be_constant=False)


def value_text(value: Any) -> str:
    """Return a parameter's value as a short text."""
    match value:
        case bool():
            return "on" if value else "off"
        case float():
            return _number(value)
        case str():
            return value or "none"
        case int():
            return f"{value:,}"
    return "the default"


def _number(value: float) -> str:
    """Return a number with six digits; a whole one in groups of three, as 1,000,000 and not 1e+06."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e12 else f"{value:g}"
