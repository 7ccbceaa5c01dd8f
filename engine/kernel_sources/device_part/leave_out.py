"""Leaves out what NVRTC can't compile, as long as no device code is among it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from warploom.engine.diagnostics import CompileError
from warploom.engine.kernel_sources.device_part.conditionals import Conditionals, device_marks, macro_words
from warploom.engine.kernel_sources.device_part.edits import edited, removal
from warploom.engine.kernel_sources.device_part.take import MARK, Taken
from warploom.engine.kernel_sources.device_part.tokens import Lines, Token
from warploom.engine.kernel_sources.device_part.units import Unit, units_of

#: Each round compiles once more. The compiler stops after 100 errors.
_MOST_ROUNDS = 24
T = TypeVar("T")


class LeftOut(msgspec.Struct, frozen=True):
    """A declaration that was left out, with its file, its line and the compiler's reason."""

    file: str
    line: int
    name: str
    reason: str


def compiled_without(
    compile_texts: Callable[[str, Mapping[str, str]], T],
    text: str,
    headers: Mapping[str, str],
    path: str,
    macros: Mapping[str, str],
) -> tuple[T, str, Mapping[str, str], list[LeftOut]]:
    """Compile a program's text and headers without the declarations that NVRTC refuses.

    Host code has errors for NVRTC wherever it uses the host's libraries. Functions, classes, types and variables with
    errors are left out if nothing in them is for the device; then the rest is compiled. If device code has errors,
    raise them, with the reason why a name that it uses was left out.

    No data member of a class and no specialisation of a template is left out: the rest would compile, and mean
    something else.
    """
    texts = {path: text, **headers}
    left: list[LeftOut] = []
    for _ in range(_MOST_ROUNDS):
        try:
            made = compile_texts(texts[path], {name: texts[name] for name in headers})
        except CompileError as problem:
            wrong = dict[str, dict[int, str]]()
            for file, line, reason in problem.errors:
                wrong.setdefault(file, {}).setdefault(line, reason)
            read = Conditionals({name: texts[name] for name in headers}, macros).tokens(texts[path])
            tokens = {path if name == "" else name: each for name, each in read.items()}
            marks = device_marks(macro_words(texts.values()))
            found = [
                each
                for file in tokens
                if file in wrong
                for each in _left_out(texts, file, tokens[file], marks, wrong[file])
            ]
            found += _instances(texts, path, wrong)
            if not found:
                raise _explained(problem, left) from None
            left += found
        else:
            return made, texts[path], {name: texts[name] for name in headers}, left
    raise CompileError(f"{path} must have fewer declarations that only a host compiles", file=path)


def _left_out(
    texts: dict[str, str], file: str, tokens: Sequence[Token], marks: frozenset[str], reasons: Mapping[int, str]
) -> list[LeftOut]:
    text = texts[file]
    lines, edits, made = Lines(text), [], []
    units = [unit for unit in units_of(text, tokens, marks) if _is_optional(unit)]
    chosen = dict[Unit, str]()
    for line, reason in reasons.items():
        start, end = lines.span(line)
        on_line = [unit for unit in units if unit.start < end and unit.end > start]
        # The smallest one; on one line with several, all of them.
        inner = [unit for unit in on_line if not any(other.owner is unit for other in on_line)]
        for unit in inner:
            chosen.setdefault(unit, reason)
    for unit, reason in chosen.items():
        edits += removal(text, unit)
        made.append(LeftOut(file, lines.line(unit.start), unit.name, reason))
    texts[file] = edited(text, edits)
    return made


def _is_optional(unit: Unit) -> bool:
    """True for a declaration that may be left out without another meaning of the rest."""
    if unit.is_specialisation:
        return False
    if unit.role == "function":
        is_member = unit.owner is not None and unit.body is None
        return not unit.is_device and not (is_member and "virtual" in unit.head_words)
    if unit.role == "variable":
        return unit.owner is None and not unit.is_device
    # A class in another one may be that of a member without a name.
    return not unit.is_device and (unit.role != "class" or unit.owner is None)


def _instances(texts: dict[str, str], path: str, wrong: Mapping[str, Mapping[int, str]]) -> list[LeftOut]:
    """Leave out the entry points of instantiations that have errors."""
    head, mark, tail = texts[path].partition(MARK)
    if not mark:
        return []
    lines, made = tail.split("\n"), []
    for at, line in enumerate(lines[:-1]):
        label = line.partition('"')[2].removesuffix('"') if line.startswith("#line ") else ""
        if not label or len(lines) < at + 3 or not lines[at + 2].strip():
            continue
        reason = next(iter(wrong.get(label, {}).values()), "")
        if not reason:
            reasons = (text for each in wrong.values() for text in each.values())
            reason = next((text for text in reasons if f'of "{label}"' in text), "")
        if reason:
            lines[at + 2] = ""
            made.append(LeftOut(path, int(line.split()[1]) + 1, label, reason.splitlines()[0]))
    texts[path] = head + mark + "\n".join(lines)
    return made


def _explained(problem: CompileError, left: list[LeftOut]) -> CompileError:
    """Return an error with the reasons for the names in it that were left out."""
    reasons = [each for each in left if each.name and f'"{each.name}"' in str(problem)]
    if reasons:
        texts = [f"{each.name} of line {each.line} is left out as host code: {each.reason}" for each in reasons[:3]]
        problem.args = ("\n".join([str(problem), *texts]),)
    return problem


def without(taken: Taken, text: str, left: Sequence[LeftOut], path: str) -> Taken:
    """Return what was taken of a program after declarations were left out; the headers are no longer needed."""
    lost = {each.name for each in left}
    skipped = [*taken.skipped, *((each.line, each.name) for each in left if each.file == path)]
    labels = {entry: label for entry, label in taken.labels.items() if label not in lost}
    return replace(taken, text=text, headers={}, labels=labels, skipped=tuple(sorted(skipped)))
