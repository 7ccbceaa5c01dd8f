"""Tooltip texts of nodes, ports and connections."""

import textwrap
from collections.abc import Mapping, Sequence
from math import prod

from warploom.app.edits.drive import source_title
from warploom.app.edits.nodes import parameter_label
from warploom.app.view_models.live_values import LiveValue, frame_text
from warploom.app.view_models.parameter_text import parameter_facts, value_text
from warploom.app.view_models.port_flow import infers_types, type_text
from warploom.app.view_models.profile.texts import count_text, held_text, share_text, times_text
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Source
from warploom.engine.figures import format_bytes, format_shape, format_time, plural
from warploom.engine.patch.changes import Connection, Mode, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.patch.organise.bypass import left_out, pass_through
from warploom.engine.patch.regions import branch_note, branch_of, region_of
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import BufferReport, FrameReport, NodeReport, NodeState

#: The most blocks named among those that share a kernel.
_NAMED = 4
#: The most names of columns.
_MOST_NAMES = 8
#: The item under the pointer: a port, a connection, or a node's id.
Hit = PortRef | Connection | str


_WIDTH = 72
_STATES = {
    NodeState.WARNING: "warning",
    NodeState.ERROR: "error",
    NodeState.INCOMPLETE: "incomplete",
    NodeState.IDLE: "idle",
}


def tooltip(
    patch: Patch,
    hit: Hit,
    report: FrameReport | None,
    profile: Profile | None = None,
    peak_bytes_per_s: float | None = None,
    *,
    is_still: bool = False,
) -> str:
    """Return the tooltip of a port, a connection or a node; its first line is the title.

    `profile` is that of the last measured frame, if the profiling level has one; `peak_bytes_per_s` is the memory
    bandwidth of the device, if that is known; `is_still` is whether a playing patch isn't launched, since nothing
    changes.
    """
    if report is None or (profile is not None and profile.level is not report.statistics.profiling):
        profile = None  # measured before, at another level
    match hit:
        case PortRef():
            return port_tooltip(patch, hit, report, profile)
        case Connection():
            return connection_tooltip(patch, hit, report, profile)
        case _:
            return node_tooltip(patch, hit, report, profile, peak_bytes_per_s, is_still=is_still)


def node_tooltip(
    patch: Patch,
    node_id: str,
    report: FrameReport | None,
    profile: Profile | None = None,
    peak_bytes_per_s: float | None = None,
    *,
    is_still: bool = False,
) -> str:
    """Return title, type and summary of a node, and its last reported state, message, times and kernels."""
    node, block_type = patch.nodes[node_id], patch.block_type(node_id)
    lines = [patch.title(node_id), f"{node.type}, {node_id}", node.comment]
    if node.region:
        branch = f", {note}" if (note := branch_note(branch_of(node.region))) else ""
        lines.append(f"inside {patch.title(region_of(node.region))}{branch}")
    lines += _order_lines(patch, node_id)
    found = report.nodes.get(node_id) if report else None
    if block_type is None:
        said = message_text(patch, found) if found else ""
        kept = f"Block type {node.type} is not installed; its data and connections are kept."
        return _joined([*lines, kept, said])
    lines += [block_type.summary, constants_text(patch, node_id, block_type), mode_text(patch, node_id)]
    if report is None or found is None:
        return _joined(lines)
    figures = [_state_text(found, report, is_still=is_still)]
    if found.time_ns is not None:
        figures.append(f"{format_time(found.time_ns)}{share_text(found, report.statistics)}")
    if found.kernels:
        figures.append(plural(found.kernels, "kernel"))
    lines += [", ".join(figures), message_text(patch, found)]
    lines += [fusion_text(patch, node_id, report.nodes), _measuring_text(patch, report, found)]
    return _joined([*lines, times_text(patch, node_id, profile, peak_bytes_per_s) if profile else ""])


def _state_text(found: NodeReport, report: FrameReport, *, is_still: bool) -> str:
    if found.state is not NodeState.OK:
        return _STATES[found.state]
    if found.is_skipped:
        return "skipped by its region"
    return "paused" if not report.running else "still, since nothing changes" if is_still else "running"


def _order_lines(patch: Patch, node_id: str) -> list[str]:
    """Return which blocks a block runs after and before, without connections."""
    after = [patch.title(first) for first, then in patch.orders if then == node_id]
    before = [patch.title(then) for first, then in patch.orders if first == node_id]
    lines = [f"runs after {', '.join(after)}"] if after else []
    return lines + ([f"runs before {', '.join(before)}"] if before else [])


def _measuring_text(patch: Patch, report: FrameReport, found: NodeReport) -> str:
    """Return why a part of a block shows no time; "" if it shows one or has no timed kernel."""
    if not isinstance(patch, InnerPatch) or not found.kernels or found.time_ns is not None:
        return ""
    if report.statistics.profiling < ProfilingLevel.PER_KERNEL:
        return "To measure what each part takes: Run > Profiling > Each kernel."
    return "Not measured yet."


def mode_text(patch: Patch, node_id: str) -> str:
    """Return whether a block is bypassed, disabled, or left out with a disabled one; "" if it runs."""
    block_type = patch.block_type(node_id)
    match patch.nodes[node_id].mode:
        case Mode.BYPASSED:
            passed = pass_through(block_type) if block_type is not None else {}
            ways = ", ".join(f"{output} takes what feeds {name}" for output, name in passed.items())
            return f"Bypassed: {ways}."
        case Mode.DISABLED:
            return "Disabled: it does not run, nor do blocks that need it."
    return "Left out, since a block that it needs is disabled." if node_id in left_out(patch) else ""


def message_text(patch: Patch, report: NodeReport) -> str:
    """Return a node's message, with the title of the block that it waits for."""
    node, text = report.waits_for, report.message
    if node in patch.nodes:
        for before in ("waits for", "until"):
            text = text.replace(f" {before} {node}", f" {before} {patch.title(node)}", 1)
    return text


def constants_text(patch: Patch, node_id: str, block_type: type[Block]) -> str:
    """Return the parameters of a node that are compiled into its kernel, and their values; "" if there are none."""
    names = [name for name, spec in block_type.parameters.items() if spec.is_constant]
    values = ", ".join(f"{name} = {value_text(patch.value(node_id, name))}" for name in names)
    return f"Compiled into its kernel: {values}." if values else ""


def fusion_text(patch: Patch, node_id: str, nodes: Mapping[str, NodeReport]) -> str:
    """Return the blocks that share one kernel with a node; "" if there are none."""
    report, lines = nodes[node_id], list[str]()
    into = titles_of(patch, report.fused_into)
    if into and report.kernels:
        does = "kernels of {} do" if len(report.fused_into) > 1 else "kernel of {} does"
        lines.append(f"The {does.format(into)} a part of its work.")
    elif len(report.fused_into) > 1:
        lines.append(f"Fused into {into}: each of their kernels computes this block again and includes its time.")
    elif into:
        lines.append(f"Fused into {into}: one kernel does the work of both, and its time is shown there.")
    if others := [node for node, other in nodes.items() if node_id in other.fused_into]:
        lines.append(f"Its kernel also does the work of {titles_of(patch, others)}.")
    return " ".join(lines)


def titles_of(patch: Patch, node_ids: Sequence[str]) -> str:
    """Return the titles of the first few nodes, and the number of the others."""
    more = f" and {len(node_ids) - _NAMED} more" if len(node_ids) > _NAMED else ""
    return f"{', '.join(title_of(patch, node) for node in node_ids[:_NAMED])}{more}"


def title_of(patch: Patch, node_id: str) -> str:
    """Return the title of a node; the id of a removed one."""
    return patch.title(node_id) if node_id in patch.nodes else node_id


def port_tooltip(patch: Patch, ref: PortRef, report: FrameReport | None, profile: Profile | None = None) -> str:
    """Return a port's name, type, rule and help, and its last reported contents or input."""
    spec = patch.find_end(ref)
    if isinstance(spec, ValueSpec):
        return _joined(_output_lines(spec, ref, report))
    if isinstance(spec, ParameterSpec):
        return _joined(_parameter_lines(patch, spec, ref, report))
    if spec is None:
        missing = f"Block type {patch.nodes[ref.node].type} has no port with this name."
        return _joined([ref.port, missing, "Connect it to another port, or delete the connection."])
    source = patch.source_of(ref) if spec.is_input else ref
    held = _held_lines(source, report, profile) if source else []
    lines = [f"{spec.name}: {type_text(patch, ref, spec)}", port_facts(spec), spec.doc]
    if held:
        lines += held
    elif spec.is_input and source is None and (own := _own_value(patch, ref)):
        lines.append(f"Not connected: the value is {own}.")
    elif spec.is_input and source is None:
        lines.append("Not connected." if spec.optional else "Not connected: the block needs it to run.")
    return _joined(lines)


def connection_tooltip(
    patch: Patch, connection: Connection, report: FrameReport | None, profile: Profile | None = None
) -> str:
    """Return both ends of a connection and its last reported buffer or value."""
    if patch.is_value_connection(connection):
        return _joined(_value_lines(patch, connection, report))
    ends = f"{connection.source} → {connection.target}"
    spec = patch.find_end(connection.source)
    if infers_types(patch) and isinstance(spec, PortSpec):
        return _joined([ends, type_text(patch, connection.source, spec)])
    held = _held_lines(connection.source, report, profile) or ["No data yet."]
    return _joined([ends, *held, *_check_lines(patch, connection.source, report)])


def _check_lines(patch: Patch, source: PortRef, report: FrameReport | None) -> list[str]:
    """Return the check of an output, and its findings."""
    sentinel = patch.sentinel_of(source)
    if sentinel is None:
        return []
    lines = [f"Checked: {sentinel.rule_text}{', or the frame is frozen' if sentinel.freezes else ''}."]
    diagnostics = report.diagnostics if report is not None else ()
    where = source.node, source.port
    found = [d.message for d in diagnostics if d.source is Source.SENTINEL and (d.node, d.port) == where]
    return lines + [f"{message[0].upper()}{message[1:]}." for message in found]


def _held_lines(source: PortRef, report: FrameReport | None, profile: Profile | None) -> list[str]:
    """Return an output's buffer, its fill, and its contents, as far as the profiling level has them."""
    key = str(source)
    buffer = report.buffers.get(key) if report is not None else None
    if report is None or buffer is None:
        return []
    lines = [buffer_text(buffer, with_allocated=report.statistics.profiling >= ProfilingLevel.PER_BLOCK)]
    if buffer.columns:
        lines.append(columns_text(buffer.columns))
    if key in report.counts:
        lines.append(count_text(report.counts[key], buffer))
    if profile is not None and key in profile.buffers:
        lines.append(held_text(profile.buffers[key]))
    return lines


def _own_value(patch: Patch, ref: PortRef) -> str:
    """Return the value of an unconnected input, if it has one."""
    block_type = patch.block_type(ref.node)
    has_value = block_type is not None and ref.port in block_type.parameters
    return value_text(patch.value(ref.node, ref.port)) if has_value else ""


def _output_lines(spec: ValueSpec, ref: PortRef, report: FrameReport | None) -> list[str]:
    """Return a value output's name, type and help, and its last value."""
    live = LiveValue(str(ref), spec.type)
    return [f"{spec.name}: {_kind(spec.type)}", "value output", spec.doc, _now(live, spec.unit, report)]


def _parameter_lines(patch: Patch, spec: ParameterSpec, ref: PortRef, report: FrameReport | None) -> list[str]:
    """Return a parameter's name, range and help, what drives it, its value, and its value when disconnected."""
    source = patch.source_of(ref)
    lines = [f"{parameter_label(spec.name)}: {_kind(spec.type)} parameter", ", ".join(parameter_facts(spec)), spec.doc]
    if source is None:
        return lines
    unit = f" {spec.unit}" if spec.unit else ""
    now = _now(LiveValue(str(ref), spec.type), spec.unit, report)
    back = f"Without the connection: {value_text(patch.value(ref.node, ref.port))}{unit}"
    frame = frame_text(report, source, ref) if report is not None else ""
    return [*lines, f"Driven by {source_title(patch, source)} ({source}){frame and f', {frame}'}", now, back]


def _value_lines(patch: Patch, connection: Connection, report: FrameReport | None) -> list[str]:
    """Return both ends of a value connection, and the value at each end where they differ."""
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


def buffer_text(buffer: BufferReport, *, with_allocated: bool = True) -> str:
    """Return dtype, shape and size: "f32, 100,000 elements, 391 KB (400 KB allocated)"."""
    shape = format_shape(buffer.shape)
    if len(buffer.shape) == 1:
        shape += " element" if buffer.shape == (1,) else " elements"
    text = f"{buffer.dtype}, {shape}, {format_bytes(buffer.size_bytes)}"
    if buffer.lifetime == "fused":
        text += ", not stored: one kernel makes and reads it"
    elif with_allocated and buffer.allocated_bytes != buffer.size_bytes:
        text += f" ({format_bytes(buffer.allocated_bytes)} allocated)"
    return text


def columns_text(columns: Sequence[str]) -> str:
    """Return the names of a table's columns, as many as a person reads: "columns: time, speed"."""
    more = f" and {len(columns) - _MOST_NAMES} more" if len(columns) > _MOST_NAMES else ""
    return f"columns: {', '.join(columns[:_MOST_NAMES])}{more}"


def size_text(buffer: BufferReport, count: int | None) -> str:
    """Return a connection's label: bytes, or the fill of an append buffer; "" when nothing is stored."""
    if buffer.lifetime == "fused":
        return ""
    return format_bytes(buffer.size_bytes) if count is None else f"{count:,} of {prod(buffer.shape):,}"


def time_text(time_ns: int, share: float | None = None) -> str:
    """Return a node's time for its badge, in microseconds only if milliseconds would be 0.0.

    If known, its share of the surrounding block's time is included.
    """
    milliseconds = time_ns / 1e6
    text = f"{milliseconds:.2f} ms" if 0.0995 <= milliseconds < 10 else format_time(time_ns)
    return text if share is None else f"{text} · {share:.0%}"


def port_facts(spec: PortSpec) -> str:
    """Return a port's side, rank or shape rule, and the rest of its declaration."""
    if not spec.is_input:
        facts = [f"output, shape {spec.shape}" if spec.shape else "output"]
        if spec.dtype_rule:
            facts.append(f"type {spec.dtype_rule}")
        if spec.inplace:
            facts.append(f"in place on {spec.inplace}")
        if spec.state:
            facts.append("kept from frame to frame")
        return ", ".join(facts)
    facts = ["optional input" if spec.optional else "input"]
    if spec.rank is not None:
        facts.append(plural(spec.rank, "dimension"))
    return ", ".join(facts)


def _joined(lines: list[str]) -> str:
    """Join lines; long ones are wrapped, except for code, which is indented."""
    return "\n".join(
        line if line.startswith(" ") else textwrap.fill(line, _WIDTH)
        for text in lines
        if text
        for line in text.splitlines()
    )
