"""What the canvas says of values: at value outputs, at driven parameters, and on the connections between them."""

from __future__ import annotations

from collections.abc import Mapping

from app.view_models.drive_candidates import source_title
from app.view_models.live_values import LiveValue
from app.view_models.parameter_text import parameter_facts, value_text
from engine.blocktypes.parameters import ParameterSpec
from engine.blocktypes.ports import ValueSpec
from engine.patch.changes import Connection, PortRef
from engine.patch.document import Patch
from engine.protocol.messages import FrameReport


def output_lines(spec: ValueSpec, ref: PortRef, report: FrameReport | None) -> list[str]:
    """Return a value output's name, type and help, and its last value."""
    live = LiveValue(str(ref), spec.type)
    return [f"{spec.name}: {_kind(spec.type)}", "value output", spec.doc, _now(live, spec.unit, report)]


def parameter_lines(patch: Patch, spec: ParameterSpec, ref: PortRef, report: FrameReport | None) -> list[str]:
    """Return a parameter's name, range and help, what drives it, its value, and what it goes back to."""
    source = patch.source_of(ref)
    lines = [f"{spec.name}: {_kind(spec.type)} parameter", ", ".join(parameter_facts(spec)), spec.doc]
    if source is None:
        return lines
    unit = f" {spec.unit}" if spec.unit else ""
    now = _now(LiveValue(str(ref), spec.type), spec.unit, report)
    back = f"Without the connection: {value_text(patch.value(ref.node, ref.port))}{unit}"
    return [*lines, f"Driven by {source_title(patch, source)} ({source})", now, back]


def value_lines(patch: Patch, connection: Connection, report: FrameReport | None) -> list[str]:
    """Return both ends of a value connection and the value at each end, where they differ."""
    source_type, target_type = patch.block_type(connection.source.node), patch.block_type(connection.target.node)
    lines = [f"{connection.source} → {connection.target}"]
    output = source_type.values_out.get(connection.source.port) if source_type else None
    parameter = target_type.parameters.get(connection.target.port) if target_type else None
    if output is None:
        return lines
    values = report.values if report is not None else {}
    given = LiveValue(str(connection.source), output.type)
    lines.append(_now(given, output.unit, report))
    key = str(connection.target)
    if parameter is not None and key in values and values[key] != values.get(given.key):
        lines.append(f"arrives as {_exact(LiveValue(key, parameter.type), values)}")
    return lines


def _now(live: LiveValue, unit: str, report: FrameReport | None) -> str:
    if report is None or live.key not in report.values:
        return "No value yet."
    return f"{_exact(live, report.values)} {unit}".rstrip()


def _exact(live: LiveValue, values: Mapping[str, float]) -> str:
    value = values[live.key]
    return ("on" if value else "off") if live.type == "bool" else f"{value:.7g}"


def _kind(type: str) -> str:
    return {"float": "number", "int": "whole number", "bool": "yes or no"}[type]
