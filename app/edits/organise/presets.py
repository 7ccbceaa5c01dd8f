"""Edits of presets: named parameter values for blocks of one type. Each is one undo step of the patch."""

from collections.abc import Collection

from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Preset


def presets_for(patch: Patch, nodes: Collection[str]) -> list[Preset]:
    """Return the presets for nodes of one type; none for nodes of several types."""
    types = {patch.nodes[node].type for node in nodes}
    return [preset for preset in patch.annotations_of(Preset) if types == {preset.type}]


def save_preset(patch: Patch, node: str, name: str) -> None:
    """Save the values of a node's parameters, replacing a preset of this name. Raise PatchError for a wrong name."""
    held = patch.nodes[node]
    values = {key: value for key, value in held.parameters.items() if not isinstance(value, UserArray)}
    patch.annotate(Preset(type=held.type, name=name.strip(), parameters=values), f"Save preset {name.strip()}")


def apply_preset(patch: Patch, nodes: Collection[str], preset: Preset) -> None:
    """Give nodes the values of a preset, and other parameters their defaults. Raise PatchError for a refused value."""
    with patch.edit(f"Apply preset {preset.name}"):
        for node in nodes:
            for name in [*patch.nodes[node].parameters]:
                if name not in preset.parameters and not isinstance(patch.nodes[node].parameters[name], UserArray):
                    patch.reset(node, name)
            patch.set(node, **preset.parameters)


def rename_preset(patch: Patch, preset: Preset, name: str) -> None:
    """Give a preset another name. Raise PatchError if it is wrong, or taken."""
    made = Preset(type=preset.type, name=name.strip(), parameters=preset.parameters, extra=preset.extra)
    if made.key == preset.key:
        return
    if made.key in patch.annotations:
        raise PatchError(f"name of a preset must be new for its block type, got {made.name}")
    with patch.edit(f"Rename preset {preset.name}"):
        patch.remove_annotation(preset.key)
        patch.annotate(made)
