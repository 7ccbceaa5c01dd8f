"""Shape rules, by which an output's shape follows from the inputs' shapes and structural parameters.

Grammar (names are ports; a number is an input's index; see `extents.py` for dimensions)::

    rule = "same" | "same(" name {"," name} ")" | "broadcast(" name "," name {"," name} ")" | "scalar"
         | along "(" dimension "," name {"," name} ")" | "sized(" dimension "," dimension "," name ")"
         | "[" dimension { "," dimension } "]" | "data" | "view" | "captured"
    along = "without" | "joined" | "stacked" | "taken"

The shapes of `along` follow from an axis, which counts from the end if negative. `without(axis, x)` leaves it out, and
is [1] if there is no other. `joined(axis, a, b)` is as long there as both together, `stacked(axis, a, b)` has a new
axis with a position for each, and `taken(axis, x, indices)` has the axes of `indices` in its place. Optional inputs of
these that are not connected don't count. `sized(axis, size, x)` has another size along the axis.

`same` means the first input, and `same(a, b)` the first of these that is connected; `N` is dimension 0 of the first
input. With `data`, the block provides the contents and so the shape. With `view`, the output is a view of an input.
With `captured`, the library call that fills the output decides its shape and element type. Each rule is parsed once.
"""

import ast
from collections.abc import Callable, Collection
from functools import lru_cache

import msgspec

from warploom.engine.descriptions.shapes.extents import (
    UNPARSABLE,
    Dimension,
    ShapeContext,
    ShapeRuleError,
    compile_dimension,
)
from warploom.engine.types import Shape

#: Rules for outputs whose shape is decided elsewhere.
GIVEN = frozenset({"data", "view", "captured"})
_ALONG = ("without", "joined", "stacked", "taken")
_WORDS = frozenset({"same", "broadcast", "scalar", "ceil", "min", "max", "N", "sized", *_ALONG})


class ShapeRule(msgspec.Struct, frozen=True):
    """A parsed rule.

    `names` are the ports and parameters in the rule; `N` and `same` refer to the port "0". With `alternatives`, only
    the first connected one counts.
    """

    evaluate: Callable[[ShapeContext], Shape]
    names: tuple[str, ...] = ()
    alternatives: bool = False


@lru_cache(maxsize=4096)
def parse_rule(text: str) -> ShapeRule:
    """Return the parsed rule. Raise ShapeRuleError when it is malformed."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except UNPARSABLE:
        raise _malformed(text) from None
    match tree:
        case ast.Name(id="scalar"):
            return ShapeRule(lambda _: ())
        case ast.Name(id="same"):
            return ShapeRule(lambda context: context.shape("0"), ("0",))
        case ast.Call(func=ast.Name(id="same"), args=arguments, keywords=[]) if arguments:
            names = _port_names(text, arguments)
            return ShapeRule(_same(names), names, alternatives=True)
        case ast.Call(func=ast.Name(id="broadcast"), args=arguments, keywords=[]) if len(arguments) > 1:
            names = _port_names(text, arguments)
            return ShapeRule(lambda context: _broadcast(names, context), names)
        case ast.Call(func=ast.Name(id=word), args=[axis, *arguments], keywords=[]) if word in _ALONG and arguments:
            return ShapeRule(_along(word, compile_dimension(axis), _port_names(text, arguments)), _names_in(tree))
        case ast.Call(func=ast.Name(id="sized"), args=[axis, size, ast.Name(id=name)], keywords=[]):
            return ShapeRule(_sized(text, axis, size, name), _names_in(tree))
        case ast.List(elts=items):
            return ShapeRule(_list(text, items), _names_in(tree))
    raise _malformed(text)


def same_names(rule: str | None) -> tuple[str, ...]:
    """Return the ports in an element type's rule "same(a, b)"; none for another rule."""
    return parse_rule(rule).names if rule and rule.startswith("same") else ()


def check_rule(rule: str, ports: Collection[str], parameters: Collection[str]) -> None:
    """Raise ShapeRuleError when `rule` is malformed, or has a name that is neither a port nor a parameter."""
    if rule in GIVEN:
        return
    unknown = [name for name in parse_rule(rule).names if not (name in ports or name in parameters or name.isdigit())]
    if unknown:
        raise ShapeRuleError(
            f"shape rule {rule!r} must name ports or structural integer parameters, got {', '.join(sorted(unknown))}"
        )


def _malformed(text: str) -> ShapeRuleError:
    return ShapeRuleError(f"shape rule must be same, same(port), broadcast(a,b), scalar or [..], got {text!r}")


def _port_names(text: str, arguments: list[ast.expr]) -> tuple[str, ...]:
    names = []
    for argument in arguments:
        match argument:
            case ast.Name(id=name):
                names.append(name)
            case ast.Constant(value=int(index)) if not isinstance(index, bool):
                names.append(str(index))
            case _:
                raise _malformed(text)
    return tuple(names)


def _names_in(tree: ast.expr) -> tuple[str, ...]:
    found = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return tuple(dict.fromkeys("0" if name == "N" else name for name in found if name == "N" or name not in _WORDS))


def _same(names: tuple[str, ...]) -> Callable[[ShapeContext], Shape]:
    def shape(context: ShapeContext) -> Shape:
        for name in names:
            found = context.inputs.get(context.resolve(name))
            if found is not None:
                return found
        return context.shape(names[0])

    return shape


def _broadcast(names: tuple[str, ...], context: ShapeContext) -> Shape:
    shapes = [context.shape(name) for name in names]
    rank = max(map(len, shapes))
    result = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            found = (f"{context.resolve(name)} {list(shape)}" for name, shape in zip(names, shapes, strict=True))
            raise ShapeRuleError(f"shapes must broadcast, got {' and '.join(found)}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def _along(word: str, axis: Dimension, ports: tuple[str, ...]) -> Callable[[ShapeContext], Shape]:
    is_new = word == "stacked"

    def shape(context: ShapeContext) -> Shape:
        names = [context.resolve(port) for port in ports]
        names = [name for name in names if name == names[0] or context.inputs.get(name, ()) is not None]
        first, *others = [context.shape(name) for name in names]
        given, rank = axis(context), len(first) + is_new
        if not -rank <= given < rank:
            raise ShapeRuleError(f"axis must be one of {rank} axes of {names[0]}, got {given}")
        at = given % rank
        before, after = first[:at], first[at + (not is_new) :]
        if word == "without":
            return before + after or (1,)
        if word == "taken":
            return (*before, *others[0], *after)
        for name, other in zip(names[1:], others, strict=True):
            if len(other) != len(first) or other[:at] + other[at + (not is_new) :] != before + after:
                rule = "shapes must be equal" if is_new else f"shapes must be equal except along axis {given}"
                raise ShapeRuleError(f"{rule}, got {names[0]} {list(first)} and {name} {list(other)}")
        return (*before, len(names) if is_new else sum(other[at] for other in (first, *others)), *after)

    return shape


def _sized(text: str, axis: ast.expr, size: ast.expr, port: str) -> Callable[[ShapeContext], Shape]:
    place, sizes = compile_dimension(axis), _list(text, [size])

    def shape(context: ShapeContext) -> Shape:
        found, at = context.shape(port), place(context)
        if not -len(found) <= at < len(found):
            raise ShapeRuleError(f"axis must be one of {len(found)} axes of {port}, got {at}")
        at %= len(found)
        return (*found[:at], *sizes(context), *found[at + 1 :])

    return shape


def _list(text: str, items: list[ast.expr]) -> Callable[[ShapeContext], Shape]:
    dimensions = [compile_dimension(item) for item in items]

    def shape(context: ShapeContext) -> Shape:
        try:
            sizes = tuple([dimension(context) for dimension in dimensions])
        except ZeroDivisionError:
            raise ShapeRuleError(f"shape rule {text!r} must not divide by zero") from None
        if sizes and min(sizes) < 1:
            raise ShapeRuleError(f"dimensions of {text} must be at least 1, got {list(sizes)}")
        return sizes

    return shape
