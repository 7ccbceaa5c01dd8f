"""Turns the camera that a picture was taken with: the parameters of the nearest block with an orbit that feeds it."""

from collections.abc import Callable, Mapping

from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

#: The parameters of a camera on an orbit.
_ORBIT, _ELEVATION, _DISTANCE = "orbit", "elevation", "distance"
#: The angle of a drag over the smaller side of the picture, in degrees.
_TURN = 180.0


def camera_of(patch: Patch, node: str) -> str | None:
    """Return the nearest block with a camera on an orbit: a node itself, or one that feeds it."""
    waiting = [node] if node in patch.nodes else []
    for each in waiting:
        block_type = patch.block_type(each)
        if block_type is not None and {_ORBIT, _ELEVATION, _DISTANCE} <= block_type.parameters.keys():
            return each
        feeding = (line.source for line in patch.connections_of(each) if line.target.node == each)
        leaves = ((patch.leaf(port) or port).node for port in feeding)
        waiting += [leaf for leaf in dict.fromkeys(leaves) if leaf not in waiting]
    return None


def turn_camera(
    patch: Patch,
    node: str,
    tell: Callable[[str], object],
    across: float,
    down: float,
    away: float,
    gesture: object,
) -> bool:
    """Turn the camera of a node's picture by shares of the picture's smaller side, and multiply its distance.

    What a value or keys drive stays, and `tell` gets the reason. Edits of one `gesture` are one undo step. Return False
    without a camera.
    """
    camera = camera_of(patch, node)
    if camera is None:
        return False
    orbit, elevation, distance = (patch.value(camera, name) for name in (_ORBIT, _ELEVATION, _DISTANCE))
    turned = (orbit - _TURN * across + 180.0) % 360.0 - 180.0
    angles = {_ORBIT: round(turned, 2), _ELEVATION: round(elevation + _TURN * down, 2)}  # longer numbers don't fit
    wanted = {**angles, _DISTANCE: round(distance * away, 4)}
    moved = {_ORBIT: across, _ELEVATION: down, _DISTANCE: away - 1.0}
    held = {name: by for name in wanted if (by := _driver(patch, camera, name))}
    with patch.edit(f"Turn camera of {patch.title(camera)}", gesture=(camera, gesture)):
        _set(patch, camera, {name: value for name, value in wanted.items() if name not in held})
    if reasons := [f"{name} of {patch.title(camera)} stays: {by}" for name, by in held.items() if moved[name]]:
        tell("; ".join(reasons))
    return True


def _driver(patch: Patch, camera: str, name: str) -> str:
    """Return what drives a parameter; "" for one that a person sets."""
    if (source := patch.source_of(PortRef(camera, name))) is not None:
        return f"{patch.title(source.node)} drives it"
    return "keys of the timeline drive it" if patch.curve(camera, name) else ""


def _set(patch: Patch, camera: str, values: Mapping[str, float]) -> None:
    block_type = patch.block_type(camera)
    assert block_type is not None
    for name, value in values.items():
        spec = block_type.parameter(name)
        low, high = (bound if bound is not None else value for bound in (spec.minimum, spec.maximum))
        patch.set(camera, **{name: min(max(value, low), high)})
