from warploom.api import Composite, CompositeBuilder
from warploom.blocks.filter.gaussian_blur import GaussianBlur
from warploom.blocks.image.mix import Mix


class Glow(Composite, id="image.glow", tags=("bloom", "halo", "light", "soft")):
    """Adds a glow around the bright parts of an image.

    A blurred copy of the image, times `amount`, is added to the image in linear light. The block consists of a Gaussian
    Blur and a Mix and has the same result as these two.
    """

    def compose(self, build: CompositeBuilder) -> None:
        """Blur the image, and add the result to it."""
        blur = build.add_child(GaussianBlur, "blur", sigma=12.0)
        mix = build.add_child(Mix, "mix", mode="add")
        build.connect_children(blur["out"], mix["b"])
        build.expose_input("image", mix["a"], doc="The image, linear RGBA, shape [height, width].")
        build.expose_input("image", blur["image"])
        build.expose_output("out", mix["out"], doc="The image with its glow, of the same size.")
        build.expose_parameter("sigma", blur, doc="Reach of the glow: standard deviation of the Gaussian.")
        build.expose_parameter("amount", mix, doc="Factor of the added light; 0 leaves the image as it is.")
