"""The instantiations of a file's kernel templates: those that its host code launches, or that a person names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from warploom.engine.kernel_sources.device_part.tokens import Token, closing_token, joined, parts
from warploom.engine.kernel_sources.device_part.units import Unit

#: Launches inside templates are followed through this many calls.
_MOST_CALLS = 4
#: The most instantiations of one kernel.
_MOST = 24


class Instance(msgspec.Struct, frozen=True):
    """A kernel with the arguments of its template, and the place in its file that asks for it."""

    kernel: Unit
    arguments: tuple[str, ...]
    place: int
    #: False for the instantiation with `float`, for a template whose arguments no launch shows.
    is_launched: bool = True
    #: Another name for the kernel, if another one shares its own.
    name: str = ""

    @property
    def label(self) -> str:
        """The kernel as a program names it, such as "blur<float, 256>"."""
        return self._with(self.kernel.name)

    @property
    def entry(self) -> str:
        """The kernel's name as an entry point."""
        return entry_name(self._with(self.name or self.kernel.name))

    def _with(self, name: str) -> str:
        return f"{name}<{', '.join(map(tidy, self.arguments))}>" if self.arguments else name


def tidy(text: str) -> str:
    """Return the text of an argument with spaces between words only."""
    text = re.sub(r"\s*([^\w\s])\s*", r"\1", text.strip())
    return re.sub(r"^\(([^()]*)\)$", r"\1", text)


def entry_name(label: str) -> str:
    """Return the name of an entry point: "blur_float_256" for "blur<float, 256>"."""
    if label.isidentifier():
        return label
    label = re.sub(r"-(?=\d)", "minus", label)
    return re.sub(r"\W+", "_", re.sub(r"\*(?=[,>*])", " ptr", label)).strip("_")


class _Use(msgspec.Struct, frozen=True):
    """A name with the arguments of its template, where host code uses it; `passed` are the arguments of the launch."""

    arguments: tuple[list[Token], ...]
    place: int
    inside: Unit
    passed: tuple[list[Token], ...] = ()


def instances_in(
    templates: Sequence[Unit], units: Sequence[Unit], asked: Iterable[str], explicit: Sequence[Unit]
) -> list[Instance]:
    """Return the instantiations of kernel templates, in the order of the file, each once.

    `explicit` are the file's own `template __global__ void blur<float>(...)`; `asked` are those that a person names.
    """
    named = [_named(text) for text in asked]
    made = list[Instance]()
    for template in templates:
        found = dict[str, Instance]()
        for name, arguments in named:
            if name == template.name:
                _add(found, Instance(template, arguments, template.start))
        for unit in explicit:
            if unit.name == template.name or unit.name == "":
                for use in _uses(template.name, [unit], is_launch=False):
                    _add(found, Instance(template, tuple(map(joined, use.arguments)), unit.start))
        for use in _uses(template.name, units, is_launch=True):
            for arguments in _resolved(template, use, units):
                _add(found, Instance(template, arguments, use.place))
        if not found and (usual := _usual(template)) is not None:
            _add(found, Instance(template, usual, template.start, is_launched=False))
        made += list(found.values())[:_MOST]
    return made


def _add(found: dict[str, Instance], instance: Instance) -> None:
    found.setdefault(instance.entry, instance)


def _named(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, rest = text.strip().partition("<")
    depth, arguments = 0, [""]
    for character in rest.rstrip().removesuffix(">"):
        depth += (character in "(<") - (character in ")>")
        if character == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += character
    return name.rpartition("::")[2].strip(), tuple(argument.strip() for argument in arguments if argument.strip())


def _uses(name: str, units: Sequence[Unit], *, is_launch: bool) -> Iterator[_Use]:
    """Yield each `name<...>` of the units, followed by `<<<` for a launch and by `(` for others."""
    for unit in units:
        if unit.role == "class" or name not in unit.words:
            continue
        tokens = unit.tokens
        first = unit.list_at if unit.list_at is not None and is_launch else 0
        for place in range(first, len(tokens)):
            if tokens[place].text != name or place + 1 >= len(tokens):
                continue
            end, arguments = place + 1, list[list[Token]]()
            if tokens[end].text == "<":
                end = closing_token(tokens, end)
                arguments = parts(tokens[place + 2 : end - 1])
            if end >= len(tokens) or tokens[end].text != ("<<<" if is_launch else "("):
                # Functions such as cudaLaunchKernel take the kernel's address.
                if not (is_launch and arguments and end < len(tokens) and tokens[end].text in (",", ")", ";")):
                    continue
                yield _Use(tuple(arguments), tokens[place].start, unit)
                continue
            opened = end
            if is_launch:
                opened = next((i + 3 for i in range(end, len(tokens) - 3) if _closes(tokens, i)), len(tokens))
            passed: list[list[Token]] = []
            if opened < len(tokens) and tokens[opened].text == "(":
                passed = parts(tokens[opened + 1 : closing_token(tokens, opened) - 1])
            yield _Use(tuple(arguments), tokens[place].start, unit, tuple(passed))


def _closes(tokens: Sequence[Token], place: int) -> bool:
    """True for the `>>>` that a list of arguments follows."""
    return all(tokens[place + i].text == ">" for i in range(3)) and tokens[place + 3].text == "("


def _resolved(template: Unit, use: _Use, units: Sequence[Unit], depth: int = 0) -> list[tuple[str, ...]]:
    """Return the arguments of a template at one use, as texts that mean the same outside of its function."""
    names = [_parameter_name(each) for each in template.template_parameters()]
    given = [_local(joined(argument), use.inside) for argument in use.arguments]
    if len(given) < len(names):
        deduced = _deduced(template, use)
        for name, parameter in list(zip(names, template.template_parameters(), strict=True))[len(given) :]:
            if name not in deduced:
                if "=" in [token.text for token in parameter]:
                    break
                return []
            given.append(_local(deduced[name], use.inside))
    inside = use.inside
    outer = [_parameter_name(each) for each in inside.template_parameters()]
    needed = [name for name in outer if any(_has_word(argument, name) for argument in given)]
    if not needed:
        return [tuple(given)]
    if depth >= _MOST_CALLS:
        return []
    made = []
    for call in _uses(inside.name, [unit for unit in units if unit is not inside], is_launch=False):
        for values in _resolved(inside, call, units, depth + 1):
            by_name = {**_defaults(inside), **dict(zip(outer, values, strict=False))}
            if all(name in by_name for name in needed):
                made.append(tuple(substituted(argument, by_name) for argument in given))
    return made


def _defaults(unit: Unit) -> dict[str, str]:
    made = {}
    for parameter in unit.template_parameters():
        texts = [token.text for token in parameter]
        if "=" in texts:
            made[_parameter_name(parameter)] = joined(parameter[texts.index("=") + 1 :])
    return made


def all_arguments(unit: Unit, arguments: Sequence[str]) -> dict[str, str]:
    """Return the argument of each parameter of a template, by its name, with defaults."""
    names = [_parameter_name(each) for each in unit.template_parameters()]
    made = dict(zip(names, arguments, strict=False))
    for name, default in _defaults(unit).items():
        made.setdefault(name, substituted(default, made))
    return made


def _parameter_name(parameter: Sequence[Token]) -> str:
    texts = [token.text for token in parameter]
    stop = texts.index("=") if "=" in texts else len(texts)
    return next((token.text for token in reversed(parameter[:stop]) if token.kind == "word"), "")


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.:]){re.escape(name)}\b", text) is not None


def substituted(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values of names in their places."""
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda word: values.get(word[0], word[0]), text)


def _local(text: str, unit: Unit) -> str:
    """Return an argument with the values of constants and types that its function declares."""
    tokens = unit.tokens[unit.list_at or 0 :]
    values = {}
    for place, token in enumerate(tokens[:-2]):
        if token.kind != "word" or not _has_word(text, token.text) or place < 2:
            continue
        stop = next((i for i in range(place, len(tokens)) if tokens[i].text == ";"), len(tokens))
        before = [each.text for each in tokens[max(0, place - 4) : place]]
        if tokens[place + 1].text == "=" and ({"const", "constexpr"} & set(before) or before[-1] == "using"):
            values[token.text] = joined(tokens[place + 2 : stop])
        elif tokens[place + 1].text == ";" and "typedef" in before:
            values[token.text] = joined(tokens[place - len(before) + before.index("typedef") + 1 : place])
    return substituted(text, {name: value if value.isidentifier() else f"({value})" for name, value in values.items()})


def _deduced(template: Unit, use: _Use) -> dict[str, str]:
    """Return the arguments that follow from the declared types of what a launch passes."""
    names = {_parameter_name(each) for each in template.template_parameters()}
    made = dict[str, str]()
    for parameter, argument in zip(template.parameters(), use.passed, strict=False):
        words = [
            token.text for token in parameter if token.text not in ("const", "__restrict__", "__restrict", "volatile")
        ]
        if not words or words[0] not in names or words[0] in made:
            continue
        stars = words.count("*")
        declared = _declared_type(
            use.inside, [token for token in argument if token.kind == "word"][:1], stars, argument
        )
        if declared:
            made[words[0]] = declared
    return made


def _declared_type(unit: Unit, named: Sequence[Token], stars: int, argument: Sequence[Token]) -> str:
    """Return the type of the elements of a local variable or a parameter of a host function."""
    casts = joined(argument)
    if found := re.match(r"\( (?:const )?(\w+(?: \w+)?) ((?:\* ?)*)\)", casts):
        return found[1] if found[2].count("*") == stars else ""
    if not named or len([token for token in argument if token.kind == "word"]) != 1:
        return ""
    name, tokens = named[0].text, unit.tokens
    for place, token in enumerate(tokens):
        if token.text != name or place < 2:
            continue
        at = place - 1
        while at > 0 and tokens[at].text == "*":
            at -= 1
        count = place - 1 - at
        if tokens[at].kind != "word" or count != stars or tokens[at].text in ("return", "else", "case"):
            continue
        words = [tokens[at].text]
        if words[0] in ("const", "__restrict__"):
            at -= 1
            words = [tokens[at].text]
        if at and tokens[at - 1].text in ("unsigned", "long"):
            words.insert(0, tokens[at - 1].text)
        return " ".join(words)
    return ""


def _usual(template: Unit) -> tuple[str, ...] | None:
    """Return `float` for each type of a template that has only types and defaults; None for others."""
    given = []
    for parameter in template.template_parameters():
        words = [token.text for token in parameter]
        if "=" in words:
            break
        if words[0] not in ("typename", "class") or "." in words:
            return None
        given.append("float")
    return tuple(given)
