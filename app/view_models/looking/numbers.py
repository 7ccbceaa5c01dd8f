"""Numbers as people read them."""


def number_text(value: object) -> str:
    """Return a number: whole numbers exactly, others with six digits."""
    if isinstance(value, float) and value == 0:
        return "0"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.6g} {value.imag:+.6g}i"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def element_text(element: object) -> str:
    """Return an element of a sample: its number, or the numbers of a vector or struct."""
    listed = element.tolist() if hasattr(element, "tolist") else element
    if isinstance(listed, list | tuple):
        return " ".join(element_text(each) for each in listed)
    return number_text(listed)
