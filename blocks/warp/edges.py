"""What images show beyond their edges."""

#: The boundary of a sample for each choice.
EDGES = {"extend": "clamp", "repeat": "wrap", "mirror": "mirror", "transparent": "zero"}


#: The help of the parameter that chooses one.
EDGE_DOC = "Beyond the edges: the border's pixels, the image again, its mirror image, or nothing."


def sampled(x: str, y: str, edge: str) -> str:
    """Return an expression for the image at a position in pixels, where whole numbers are the centres of pixels."""
    return f'sample(image, {x}, {y}, coordinates="elements", boundary="{EDGES[edge]}")'
