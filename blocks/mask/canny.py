from warploom.api import Composite, CompositeBuilder
from warploom.blocks.filter.gaussian_blur import GaussianBlur
from warploom.blocks.mask.thin_edges import ThinEdges


class Canny(Composite, id="image.canny", tags=("edges", "outline", "contour", "lines", "detector")):
    """Outputs the edges of an image as thin lines, without those of noise.

    The image is blurred; edges are then one pixel wide and at least `low` strong, and of those that hang together stay
    the ones that reach `high` somewhere (Canny, 1986). The block consists of a Gaussian Blur and a Thin Edges.
    """

    def compose(self, build: CompositeBuilder) -> None:
        """Blur the image, and find its edges."""
        blur = build.add_child(GaussianBlur, "blur", sigma=1.4)
        edges = build.add_child(ThinEdges, "edges")
        build.connect_children(blur["out"], edges["image"])
        build.expose_input("image", blur["image"], doc="The image, linear RGBA, shape [height, width].")
        build.expose_output("out", edges["out"], doc="1 on edges, else 0, of the same size.")
        build.expose_parameter("sigma", blur, doc="Size of what is too small for an edge.")
        build.expose_parameter("low", edges, doc="Smallest gradient of an edge.")
        build.expose_parameter("high", edges, doc="Gradient that an edge must reach somewhere.")
