"""The OSC addresses of a patch as rows of a table."""

from dataclasses import dataclass

from warploom.app.view_models.parameter_text import parameter_facts
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.osc import OscOut
from warploom.engine.patch.organise.osc_addresses import live_parameters, osc_address, osc_names


@dataclass(frozen=True)
class OscRow:
    """A parameter or an output: its address, its type and range, and whether its value is sent."""

    port: PortRef
    address: str
    takes: str
    type: str
    is_sent: bool


def osc_rows(patch: Patch) -> list[OscRow]:
    """Return the parameters that messages can set, and the outputs, whose values can be sent."""
    names, rows = osc_names(patch), []
    outs = {(out.node, out.port): out.address for out in patch.annotations_of(OscOut)}
    for node in patch.nodes:
        block_type = patch.block_type(node)
        if block_type is None or patch.is_end(node):
            continue
        ends = [(spec.name, _takes(spec), spec.type) for spec in live_parameters(block_type)]
        ends += [(spec.name, "output", spec.type) for spec in block_type.values_out.values()]
        ends += [(spec.name, "output, first numbers", "") for spec in block_type.ports.values() if not spec.is_input]
        for name, takes, kind in ends:
            port = PortRef(node, name)
            sent = outs.get((node, name))
            rows.append(OscRow(port, sent or osc_address(patch, port, names), takes, kind, sent is not None))
    return rows


def _takes(spec: ParameterSpec) -> str:
    """Return the type and range of the values that messages may set."""
    if spec.type == "bool":
        return "on or off"
    fact = next(iter(parameter_facts(spec)), "")
    kind = {"int": "whole number", "str": "text"}.get(spec.type, "number")
    return fact[0].lower() + fact[1:] if fact and not fact.startswith("Default") else kind
