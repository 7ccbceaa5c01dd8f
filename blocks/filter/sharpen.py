from warploom.api import Composite, CompositeBuilder
from warploom.blocks.filter.add_detail import AddDetail
from warploom.blocks.filter.gaussian_blur import GaussianBlur


class Sharpen(Composite, id="image.sharpen", tags=("unsharp", "mask", "detail", "clarity", "crisp")):
    """Sharpens an image by an unsharp mask.

    What the image has beyond a blurred copy of it is added to it. A small sigma sharpens edges, a large one raises the
    local contrast. The block consists of a Gaussian Blur and an Add Detail and has the same result as these two.
    """

    def compose(self, build: CompositeBuilder) -> None:
        """Blur the image, and add the difference."""
        blur = build.add_child(GaussianBlur, "blur", sigma=2.0)
        detail = build.add_child(AddDetail, "detail")
        build.connect_children(blur["out"], detail["blurred"])
        build.expose_input("image", detail["image"], doc="The image, linear RGBA, shape [height, width].")
        build.expose_input("image", blur["image"])
        build.expose_output("out", detail["out"], doc="The sharper image, of the same size.")
        build.expose_parameter("sigma", blur, doc="Size of the detail: standard deviation of the Gaussian.")
        build.expose_parameter("amount", detail, doc="Factor of the detail that is added.")
        build.expose_parameter("threshold", detail, doc="Smallest difference that counts.")
