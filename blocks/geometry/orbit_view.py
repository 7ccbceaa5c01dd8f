from warploom.api import Block, param


class OrbitView(Block, abstract=True):
    """A picture that a camera on an orbit around the vertical axis takes."""

    width: int = param(1280, min=16, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(720, min=16, max=8192, unit="px", structural=True, doc="Height of the picture.")
    orbit: float = param(20.0, min=-180, max=180, unit="degrees", doc="Position of the camera on its orbit.")
    spin: float = param(10.0, min=-90, max=90, unit="degrees/s", doc="How fast the camera orbits.")
    elevation: float = param(20.0, min=-85, max=85, unit="degrees", doc="Angle at which the camera looks down.")
    distance: float = param(
        3.0, min=0.1, max=1000, unit="m", doc="Distance from the camera to the point that it looks at."
    )
    target: float = param(0.0, min=-100, max=100, unit="m", doc="Height of the point that the camera looks at.")
    field_of_view: float = param(42.0, min=5, max=120, unit="degrees", doc="Vertical angle of view.")
