"""Takes the device's part of a CUDA program: kernels get plain names, and what only the host needs is left out.

A program's file has kernels among host functions, launches and classes. NVRTC compiles device code alone, and has no
option to leave the rest out. Declarations are found by their brackets (`units.py`), and edits keep each line in its
place, so that messages name the lines of the person's file.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from warploom.engine.kernel_sources.device_part.conditionals import Conditionals, device_marks, macro_words
from warploom.engine.kernel_sources.device_part.edits import Edit, edited, removal, without
from warploom.engine.kernel_sources.device_part.templates import (
    Instance,
    all_arguments,
    instances_in,
    substituted,
)
from warploom.engine.kernel_sources.device_part.tokens import Lines, Token, closing_token, joined
from warploom.engine.kernel_sources.device_part.units import Unit, units_of
from warploom.engine.kernel_sources.device_part.variables import (
    READ_CALLS,
    SYMBOL_CALLS,
    Variable,
    renamed,
    variables_in,
)

#: The line after which a text has the kernels made from its templates.
MARK = "// The kernels of templates and namespaces."
_HOST = re.compile(r"<<<|\bmain\s*\(|\b__(?:host|constant|managed)__")
_KERNEL = re.compile(r'(extern\s*"C"\s*)?(?:static\s+|inline\s+)*__global__')
_VARIABLE = re.compile(r"__device__[^;(){}]*;")


class Taken(msgspec.Struct, frozen=True):
    """The device's part of a text and of the headers that it includes, with what was found in them.

    `labels` has the names of kernels in their program by entry point, if they differ. `skipped` has the lines and names
    of host functions. `missing` has the lines and names of templates without a known instantiation.
    """

    text: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    variables: tuple[str, ...] = ()
    skipped: tuple[tuple[int, str], ...] = ()
    missing: tuple[tuple[int, str], ...] = ()


def is_program(text: str) -> bool:
    """True if a text has more than kernels that are `extern "C"` and functions for them."""
    return (
        MARK in text
        or _HOST.search(text) is not None
        or any(head[1] is None for head in _KERNEL.finditer(text))
        or _VARIABLE.search(text) is not None
    )


def take(
    text: str, headers: Mapping[str, str], asked: Iterable[str] = (), macros: Mapping[str, str] | None = None
) -> Taken:
    """Return the device's part of a program's text, and of its own headers, given by path.

    `asked` are instantiations of templates that a person names, such as "blur<float, 256>". `macros` are defined before
    the text. A text from which a part has been taken already stays as it is.
    """
    is_taken = MARK in text
    texts = {"": text, **headers}
    conditionals, words = Conditionals(headers, macros or {}), macro_words(texts.values())
    marks = device_marks(words)
    by_file = {name: units_of(texts[name], tokens, marks) for name, tokens in conditionals.tokens(text).items()}
    units = [unit for found in by_file.values() for unit in found]
    needed = _needed(units, words)
    host = {unit for unit in units if _is_host(unit, needed)}
    device = [unit for unit in units if unit not in host and (unit.is_device or unit in needed)]
    of_host = [unit for unit in units if not unit.is_device]
    touched = frozenset().union(*(_symbols(unit, SYMBOL_CALLS) for unit in of_host))
    read = frozenset().union(*(_symbols(unit, READ_CALLS) for unit in of_host))
    variables = variables_in(units, device, touched, read, conditionals.macros)
    known = [variable for _, each in variables for variable in each]
    kernels = [unit for unit in units if unit.is_kernel and unit.role == "function"]
    names = _distinct_names(kernels)
    explicit = [unit for unit in kernels if unit.tokens[0].text == "template" and not unit.is_template]
    templates = [unit for unit in kernels if unit.is_template and unit.body is not None and not unit.is_specialisation]
    instances = [
        replace(each, name=names.get(each.kernel, "")) for each in instances_in(templates, units, asked, explicit)
    ]
    uses = {unit: _variables_of(unit, units, known, words) for unit in kernels if unit.body is not None}
    bounds = [name for name, inner in words.items() if not _BOUNDS.isdisjoint(inner)]
    edits: dict[str, list[Edit]] = {name: [] for name in texts}
    for name, found in by_file.items():
        if name == "" and is_taken:
            continue
        made = edits[name]
        for unit in found:
            if unit in host or unit in explicit:
                made += removal(texts[name], unit)
                continue
            if unit.is_kernel:
                made += _kernel_edits(texts[name], unit, uses.get(unit, []), names.get(unit), bounds)
            if unit.role != "class":
                made += renamed(unit, known) if unit.role == "function" else []
        for unit, each in variables:
            if unit in found:
                ends = "\n" * texts[name].count("\n", unit.start, unit.end)
                made.append((unit.start, unit.end, " ".join(variable.declaration for variable in each) + ends))
    lines = Lines(text)
    result = edited(text, edits[""])
    labels: dict[str, str] = {}
    if not is_taken:
        plain = [unit for unit in kernels if _is_wrapped(unit) and not unit.is_template and unit.body is not None]
        places = {id(unit): lines.line(unit.start) if unit in by_file[""] else 1 for unit in units}
        made_kernels = [Instance(unit, (), unit.start, name=names.get(unit, "")) for unit in plain]
        result += f"\n{MARK}\n"
        for instance in [*made_kernels, *instances]:
            unit = instance.kernel
            source = next(texts[name] for name, found in by_file.items() if unit in found)
            result += f'/* {_doc(source, unit)} */\n#line {places[id(unit)]} "{instance.label}"\n'
            result += f"{_wrapper(instance, uses.get(unit, []), source)}\n"
            if instance.label != instance.entry:
                labels[instance.entry] = instance.label
        result += '#line 1 "added text"\n'
    skipped = [(lines.line(unit.start), unit.name) for unit in by_file[""] if unit in host and unit.body is not None]
    instantiated = {instance.kernel for instance in instances}
    missing = [(lines.line(unit.start), unit.name) for unit in templates if unit not in instantiated]
    return Taken(
        result,
        {name: edited(each, edits[name]) for name, each in headers.items()},
        labels,
        tuple(dict.fromkeys(variable.name for variable in known)),
        tuple(skipped),
        tuple(missing),
    )


def _symbols(unit: Unit, calls: frozenset[str]) -> frozenset[str]:
    """Return the names that host code passes to functions that set or read variables of the device."""
    if calls.isdisjoint(unit.words):
        return frozenset()
    names = set[str]()
    for place, token in enumerate(unit.tokens[:-1]):
        if token.text in calls and "(" in [each.text for each in unit.tokens[place + 1 : place + 12]]:
            opened = next(i for i in range(place + 1, len(unit.tokens)) if unit.tokens[i].text == "(")
            inner = unit.tokens[opened : closing_token(unit.tokens, opened)]
            names |= {each.text for each in inner if each.kind == "word"}
    return frozenset(names)


def _is_wrapped(unit: Unit) -> bool:
    """True for a kernel that another entry point must call."""
    return bool(unit.scope) or unit.is_template


def _is_host(unit: Unit, needed: Collection[Unit]) -> bool:
    """True for a function that only the host calls."""
    if unit.role != "function" or unit.is_kernel or not unit.marks.isdisjoint(unit.head_words):
        return False
    if "__host__" in unit.head_words or (not unit.scope and unit.name == "main"):
        return True
    if any(token.text == "<<<" for token in unit.tokens):
        return True
    return unit.owner is None and "operator" not in unit.head_words and unit not in needed


def _needed(units: Sequence[Unit], macros: Mapping[str, Collection[str]]) -> frozenset[Unit]:
    """Return the units that device code may use, by their names: a kernel needs no `__device__` before its helpers."""
    by_name: dict[str, list[Unit]] = {}
    for unit in units:
        by_name.setdefault(unit.name, []).append(unit)
    reached = {unit for unit in units if unit.is_device and unit.role != "class"}
    reached |= {unit for unit in units if unit.owner is not None and unit.owner.is_device}
    words = set[str]()
    waiting = [word for unit in reached for word in unit.words]
    while waiting:
        word = waiting.pop()
        if word in words:
            continue
        words.add(word)
        waiting += macros.get(word, ())
        for unit in by_name.get(word, ()):
            if unit not in reached:
                reached.add(unit)
                waiting += unit.words
    return frozenset(reached)


def _variables_of(
    kernel: Unit, units: Sequence[Unit], variables: Sequence[Variable], macros: Mapping[str, Collection[str]]
) -> list[Variable]:
    """Return the variables that a kernel and the functions that it calls use."""
    if not variables:
        return []
    by_name: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.role in ("function", "class"):
            by_name.setdefault(unit.name, []).append(unit)
    words, waiting = set[str](), list(kernel.words)
    while waiting:
        word = waiting.pop()
        if word not in words:
            words.add(word)
            waiting += macros.get(word, ())
            for unit in by_name.get(word, ()):
                if not unit.is_kernel:
                    waiting += unit.words
    return [variable for variable in variables if variable.name in words]


def _distinct_names(kernels: Sequence[Unit]) -> dict[Unit, str]:
    """Return other names for kernels that share theirs: "blur_2" for the second one with other parameters."""
    made: dict[Unit, str] = {}
    seen: dict[str, list[object]] = {}
    for unit in kernels:
        if unit.body is not None and not unit.is_specialisation:
            kinds = [*map(_type_text, unit.parameters()), *map(joined, unit.template_parameters())]
            known = seen.setdefault(unit.name, [])
            if kinds not in known:
                known.append(kinds)
            if at := known.index(kinds):
                made[unit] = f"{unit.name}_{at + 1}"
    return made


def _type_text(parameter: Sequence[Token]) -> str:
    return joined([token for token in parameter[:-1] if token.text != "const"])


def _extern_c(unit: Unit) -> list[Edit]:
    """Return the edit that takes `extern "C"` from before a function; none if it is in a block of them."""
    first, second = unit.tokens[unit.head : unit.head + 2]
    return [(first.start, second.end, "")] if first.text == "extern" and second.kind == "text" else []


#: Attributes that only a kernel may have.
_BOUNDS = frozenset({"__launch_bounds__", "__block_size__", "__cluster_dims__", "__maxnreg__"})


def _kernel_edits(
    text: str, unit: Unit, variables: Sequence[Variable], name: str | None, bounds: Collection[str]
) -> list[Edit]:
    """Return the edits of a kernel: an entry point of its own name, or a function that one calls.

    `name` is another name for it. `bounds` are macros with attributes that only a kernel may have.
    """
    if unit.body is None:  # only host code needs the declaration
        return [] if unit.is_template or unit.is_extern_c else removal(text, unit)
    assert unit.list_at is not None
    named = unit.tokens[unit.name_at]
    made: list[Edit] = [] if name is None else [(named.start, named.end, name)]
    if _is_wrapped(unit):
        # Beside an entry point of the same name, a function must have another one.
        if not unit.is_template:
            made = [(named.start, named.end, f"warploom_{name or unit.name}")]
        if unit.is_extern_c:
            made += _extern_c(unit)
        mark = next(token for token in unit.tokens[unit.head :] if token.text == "__global__")
        taken = without(unit, *_BOUNDS, *bounds, "__grid_constant__")
        return [*made, (mark.start, mark.end, "__device__ __forceinline__"), *taken]
    if not unit.is_extern_c:
        made.append((unit.start, unit.start, 'extern "C" '))
        made += without(unit, "static", "inline")
    if variables:
        end = unit.tokens[closing_token(unit.tokens, unit.list_at) - 1].start
        comma = ", " if unit.parameters() else ""
        made.append((end, end, comma + ", ".join(variable.parameter for variable in variables)))
        after = unit.tokens[unit.body].end
        made.append((after, after, " " + " ".join(variable.start for variable in variables)))
    return made


def _doc(text: str, unit: Unit) -> str:
    """Return the comment right above a declaration as one line."""
    lines = text[: unit.start].rstrip(" ").splitlines() if text[: unit.start].endswith("\n") else []
    if lines and lines[-1].endswith("*/"):
        inner = text[: unit.start].rpartition("/*")[2].rpartition("*/")[0].splitlines()
        return " ".join(line.strip().lstrip("*").strip() for line in inner).strip()
    above = list(takewhile(lambda line: line.startswith("//"), reversed(lines)))
    return " ".join(line.lstrip("/").strip() for line in reversed(above)).replace("*/", "")


def _comments(text: str, unit: Unit) -> list[str]:
    """Return the comments of a function's parameters, as the words of a comment."""
    assert unit.list_at is not None
    parameters, end = unit.parameters(), unit.tokens[closing_token(unit.tokens, unit.list_at) - 1].start
    starts = [parameter[0].start for parameter in parameters[1:]]
    # A comment after a comma, on the same line, is of the parameter before it.
    lines = [text.find("\n", start) for start in (parameter[-1].end for parameter in parameters)]
    stops = [
        max(start, line) if text[line:start].isspace() else start for start, line in zip(starts, lines, strict=False)
    ]
    made, place = list[str](), parameters[0][0].start if parameters else 0
    for stop in [*stops, max(end, lines[-1])] if parameters else []:
        found = re.findall(r"//([^\n]*)|/\*(.*?)\*/", text[place:stop], re.DOTALL)
        made.append(" ".join(" ".join(filter(None, each)).strip() for each in found).replace("*/", ""))
        place = stop
    return made


def _wrapper(instance: Instance, variables: Sequence[Variable], text: str) -> str:
    """Return an entry point that calls a kernel's function, with its arguments in place of the template's names."""
    unit = instance.kernel
    values = all_arguments(unit, instance.arguments)
    parameters, names, comments = list[str](), list[str](), _comments(text, unit)
    for index, parameter in enumerate(unit.parameters()):
        kind, name = _typed(parameter)
        kind, name = substituted(kind, values), name or f"parameter{index}"
        parameters.append(f"{kind} {name}" if "[" not in kind else substituted(joined(parameter), values))
        names.append(name)
        if comments[index]:
            parameters[-1] += f" /* {comments[index]} */"
    start = " ".join(variable.start for variable in variables)
    parameters += [variable.parameter for variable in variables]
    called = instance.name or unit.name
    called = f"{called}<{', '.join(instance.arguments)}>" if unit.is_template else f"warploom_{called}"
    spaces = [name for name in unit.scope if name]
    # Inside its namespace, a kernel's parameters may have types of that namespace.
    opened = "".join(f"namespace {name} {{ " for name in spaces)
    head = f'extern "C" __global__ void {instance.entry}({", ".join(parameters)})'
    place = "".join(f"{name}::" for name in ["", *spaces])
    shown = f" using {place}{instance.entry};" if spaces else ""
    return f"{opened}{head} {{ {start} {place}{called}({', '.join(names)}); }}{' }' * len(spaces)}{shown}"


def _typed(parameter: Sequence[Token]) -> tuple[str, str]:
    """Return the type of a parameter and its name: the last word, after at least one of its type."""
    kept = [token for token in parameter if token.text != "__grid_constant__"]
    texts = [token.text for token in kept]
    kept = kept[: texts.index("=")] if "=" in texts else kept
    words = [token for token in kept if token.kind == "word"]
    at = next((i for i, token in enumerate(kept) if token.text == "["), len(kept))
    last = kept[at - 1]
    if last.kind != "word" or len(words) < 2 or last.text in _BASIC:
        return joined(kept), ""
    return joined([*kept[: at - 1], *kept[at:]]), last.text


_BASIC = frozenset({"int", "float", "double", "char", "short", "long", "unsigned", "bool", "const"})
