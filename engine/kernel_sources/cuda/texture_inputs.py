"""Textures as parameters of kernels in CUDA C++: a buffer, its size, and how it is sampled.

`Texture<float4> image` in a kernel's parameter list becomes the numbers and the pointer that `texture` of
kernels/warploom/texture.h takes, and the kernel begins by making the texture from them::

    int image_width, int image_height, int image_edge, int image_filter, const float4* __restrict__ image

`Volume<float> field` has a depth too; there is no filter if nothing calls `sample`. So the rest of Warploom sees a
pointer, sizes and live numbers. The pointer is the last, since a comment after a parameter is the help of its port.
"""

import re

from warploom.engine.ptx.text import closing, code_of, cuda_parameters

_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<][^"<>\n]*\btexture\.h[">]', re.MULTILINE)
_KERNEL = re.compile(r"\b__global__\b(?:(?!\b__global__\b)[^;{}])*?\b(\w+)\s*\(")
_INPUT = re.compile(r"\s*(?:const\s+)?(Texture|Volume)\s*<\s*([\w:][\w: ]*?)\s*>\s*(?:const\b\s*)?&?\s*(\w+)\s*")
_AXES = {"Texture": ("width", "height"), "Volume": ("width", "height", "depth")}
_EDGE = "/* [0, 3] = 0, what lies beyond the edges: 0 the nearest pixel, 1 it repeats, 2 its mirror image, 3 zeros. */"
_FILTER = "/* [0, 1] = 1, between pixels: 0 the nearest one, 1 linear. */"


def with_textures(text: str) -> str:
    """Return a text with the textures among its kernels' parameters as pointers and numbers; lines keep their numbers.

    Only texts that include texture.h have any.
    """
    if _HEADER.search(text) is None:
        return text
    code, edits = code_of(text), list[tuple[int, int, str]]()
    has_filter = re.search(r"\bsample\s*\(", code) is not None
    for entry in dict.fromkeys(head[1] for head in _KERNEL.finditer(code)):
        for end, spans in cuda_parameters(code, entry):
            found = [each for span in spans if (each := _INPUT.fullmatch(code, *span))]
            edits += [(each.start(1), each.end(3), _parameters(each, has_filter)) for each in found]
            begin = re.compile(r"\s*\{").match(code, end)
            if found and begin is not None:
                # A name in the outermost braces can't be that of a parameter, so the body gets braces of its own.
                made = " ".join(f"const auto made_{each[3]} = {_texture(each, has_filter)};" for each in found)
                named = " ".join(f"const auto& {each[3]} = made_{each[3]};" for each in found)
                last = closing(code, begin.end(), "{", "}") - 1
                edits += [(begin.end(), begin.end(), f" {made} {{ {named}"), (last, last, "}")]
    for start, stop, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def _parameters(texture: re.Match[str], has_filter: bool) -> str:
    kind, pixel, name = texture.groups()
    numbers = [f"int {name}_{axis}" for axis in _AXES[kind]] + [f"int {name}_edge {_EDGE}"]
    numbers += [f"int {name}_filter {_FILTER}"] if has_filter else []
    return ", ".join([*numbers, f"const {pixel}* __restrict__ {name}"])


def _texture(texture: re.Match[str], has_filter: bool) -> str:
    kind, _, name = texture.groups()
    given = [name, *(f"{name}_{axis}" for axis in _AXES[kind]), f"static_cast<Edge>({name}_edge)"]
    given += [f"static_cast<Filter>({name}_filter)"] if has_filter else []
    return f"{kind.lower()}({', '.join(given)})"
