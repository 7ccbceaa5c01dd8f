"""Edits of what a patch receives and sends by OSC. Each is one undo step of the patch."""

from collections.abc import Mapping

from msgspec.structs import replace

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.osc import Osc, OscOut, destination
from warploom.engine.patch.organise.osc_addresses import osc_settings


def set_osc(patch: Patch, port: int, host: str) -> None:
    """Let a patch listen to a port on a local address; 0 for no port."""
    name = f"Listen to OSC at port {port}" if port else "Stop listening to OSC"
    _put(patch, replace(osc_settings(patch), port=port, host=host), name)


def set_destination(patch: Patch, to: str) -> None:
    """Send values to another address. Raise PatchError unless it has the form HOST:PORT."""
    destination(to)
    _put(patch, replace(osc_settings(patch), to=to), f"Send OSC to {to}")


def set_sent(patch: Patch, port: PortRef, *, is_sent: bool) -> None:
    """Start or stop sending the value of a parameter or output when it changes."""
    out = OscOut(node=port.node, port=port.port)
    if is_sent:
        patch.annotate(out, f"Send {port} by OSC")
    elif out.key in patch.annotations:
        patch.remove_annotation(out.key, f"Don't send {port} by OSC")


def is_sent(patch: Patch, port: PortRef) -> bool:
    """Return whether a parameter or output is sent."""
    return OscOut(node=port.node, port=port.port).key in patch.annotations


def held_by_osc(patch: Patch, values: Mapping[str, float]) -> dict[PortRef, float]:
    """Return the parameters that messages have set, with their values, of the values in a report."""
    found = {}
    for key, value in values.items():
        port = PortRef(*key.split(".", 1))
        block_type = patch.block_type(port.node) if port.node in patch.nodes else None
        if block_type is None or port.port not in block_type.parameters or patch.source_of(port) is not None:
            continue
        if not patch.curve(port.node, port.port):
            found[port] = value
    return found


def keep_values(patch: Patch, values: Mapping[PortRef, float]) -> None:
    """Set parameters to the values that messages have given them."""
    with patch.edit("Keep values from OSC"):
        for port, value in values.items():
            try:
                patch.set(port.node, **{port.port: value})
            except PatchError:  # a boolean is reported as a number
                patch.set(port.node, **{port.port: bool(value)})


def _put(patch: Patch, settings: Osc, name: str) -> None:
    if settings == Osc() and not settings.extra:
        if settings.key in patch.annotations:
            patch.remove_annotation(settings.key, name)
    else:
        patch.annotate(settings, name)
