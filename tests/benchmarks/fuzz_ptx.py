"""Mutated PTX through parser, translator and LLVM: `python -m tests.benchmarks.fuzz_ptx [COUNT] [SEED]`.

Each mutant either loads or is a KernelError; any other outcome is printed with its mutant. Mutants run in child
processes, in batches, so that crashes and hangs are noticed; a batch that dies is halved until the mutant is found. The
sources are Warploom's own kernels, compiled by NVRTC, and the hand-written PTX below.
"""

import random
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.device.host.modules import native
from warploom.engine.diagnostics import KernelError, TranslatorBug
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.ptx import parse

ROOT = Path(__file__).parents[2]
BATCH = 100
SECONDS_EACH = 20
#: One in this many mutants is also compiled to machine code, which takes most of the time.
WHOLE = 8
MEMORY_BYTES = 6 << 30

HAND_WRITTEN = """.version 8.0
.target sm_75
.address_size 64
.global .align 4 .b8 table[16] = {1, 2, 3};
.shared .align 16 .b8 tile[256];
.func (.param .b32 out) twice(.param .b32 in) { .reg .b32 %a; ld.param.b32 %a, [in]; add.s32 %a, %a, %a;
st.param.b32 [out], %a; ret; }
.visible .entry k(.param .u64 p, .param .u32 n) {
  .reg .pred %q<3>; .reg .b32 %r<9>; .reg .b64 %x<6>; .reg .f32 %f<4>; .local .align 8 .b8 own[32];
  ld.param.u64 %x0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %q0, %r1, %r0;
  @%q0 bra DONE;
  cvta.to.global.u64 %x1, %x0; mad.wide.u32 %x2, %r1, 4, %x1; ld.global.f32 %f0, [%x2];
LOOP:
  fma.rn.f32 %f0, %f0, 0f3F800000, 0f40000000; add.u32 %r1, %r1, 1; setp.lt.u32 %q1, %r1, %r0; @%q1 bra LOOP;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r2, [b]; }
  bar.sync 0; shfl.sync.bfly.b32 %r3|%q2, %r2, 1, 31, -1; st.shared.u32 [tile+4], %r3;
  st.local.u32 [own+8], %r3; atom.global.add.u32 %r4, [%x2], %r3; prmt.b32 %r5, %r4, %r3, 0x3210;
  bfe.u32 %r6, %r5, 3, 7; selp.b32 %r7, %r6, %r5, %q1; cvt.rn.f32.u32 %f1, %r7; st.global.f32 [%x2+-4], %f1;
DONE:
  ret;
}
"""


def sources(limit: int | None = None) -> list[str]:
    """Return PTX to mutate: hand-written PTX first, then kernels of the library and of the benchmarks."""
    found = [HAND_WRITTEN]
    folders = ("kernels", "blocks", "tests/benchmarks/host_kernels")
    paths = sorted({path for folder in folders for path in (ROOT / folder).glob("**/*.cu")})
    for path in paths[:limit]:
        try:
            image = load_image(path, HOST_ARCHITECTURE).ptx
        except KernelError:
            continue  # a header that other kernels include
        found.append(image)
    return found


def tokens(text: str) -> list[str]:
    """Split PTX into words, numbers, signs and white space, which joined give the text again."""
    found, word = [], ""
    for character in text:
        if character.isalnum() or character in "_$%.":
            word += character
            continue
        found += [word, character] if word else [character]
        word = ""
    return [*found, word]


def rename(text: str, rng: random.Random) -> str:
    """Return the text with one register, label or other name changed in one place, or everywhere."""
    names = sorted({part for part in tokens(text) if part[:1].isalpha() or part[:1] in "%_$"})
    if not names:
        return text
    name = rng.choice(names)
    other = rng.choice(
        (
            name[:-1] or "x",
            name + "9",
            name[1:] or "%",
            "%" + name,
            name.replace(".", ""),
            "%tid.q",
            "_",
            rng.choice(names),
        )
    )
    parts = tokens(text)
    places = [index for index, part in enumerate(parts) if part == name]
    for index in rng.choice(([rng.choice(places)], places)):
        parts[index] = other
    return "".join(parts)


def mutate(text: str, rng: random.Random) -> str:
    """Return the text with one to three random mistakes."""
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(9)
        if kind > 6:
            text = rename(text, rng)
        elif kind < 4:
            parts = tokens(text)
            places = [index for index, part in enumerate(parts) if not part.isspace() and part]
            first, second = rng.choice(places), rng.choice(places)
            if kind == 0:
                del parts[first]
            elif kind == 1:
                parts.insert(first, parts[second])
            elif kind == 2:
                parts[first], parts[second] = parts[second], parts[first]
            else:
                numbers = [index for index in places if parts[index][0].isdigit()] or places
                parts[rng.choice(numbers)] = rng.choice(
                    (
                        "0",
                        "1",
                        "-1",
                        "31",
                        "4294967295",
                        "18446744073709551616",
                        "0xFFFFFFFFFFFFFFFF",
                        "0f7F800000",
                        "3.5",
                        "1" * 5000,
                        "(" * 3000 + "1" + ")" * 3000,
                    )
                )
            text = "".join(parts)
        elif kind == 4:
            text = text[: rng.randrange(len(text))]
        else:
            lines = text.split("\n")
            first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
            if kind == 5:
                lines[first], lines[second] = lines[second], lines[first]
            else:
                lines.insert(first, lines[second])
            text = "\n".join(lines)
        if not text.strip():
            return text
    return text


def attempt(text: str, *, is_whole: bool = True) -> str:
    """Compile PTX and return "fine", "refused", or the message of a refusal that lacks a line.

    Other exceptions are not caught.

    Without `is_whole`, the attempt ends when LLVM has verified the translation.
    """
    try:
        translated = translate_module(parse(text), native.triple(), *native.cpu())
        native.compile_object(translated.text) if is_whole else native.verified(translated.text)
        problems = list(translated.refused.values())
    except KernelError as reason:
        problems = [reason]
    for problem in problems:
        if isinstance(problem, TranslatorBug):
            return f"FAILED: {problem}"
        if not problem.line:
            return f"FAILED without a line: {problem}"
    return "refused" if problems else "fine"


def mutant(originals: Sequence[str], seed: int, number: int) -> str:
    """Return mutant `number` of a run."""
    rng = random.Random(seed * 1_000_003 + number)
    return mutate(originals[0 if number % 2 else number // 2 % len(originals)], rng)


def child(seed: int, first: int, last: int) -> None:
    """Compile mutants `first` to `last`; print each one's number and outcome."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    originals = sources()
    for number in range(first, last):
        text = mutant(originals, seed, number)
        sys.stdout.write(f"{number} ")
        sys.stdout.flush()
        start = time.perf_counter()
        try:
            outcome = attempt(text, is_whole=number % WHOLE == 0)
        except Exception:  # noqa: BLE001 - this is what the run looks for
            outcome = "FAILED " + " | ".join(traceback.format_exc().splitlines()[-6:])
        seconds = time.perf_counter() - start
        sys.stdout.write(f"{outcome}{f' SLOW {seconds:.1f} s' if seconds > SECONDS_EACH else ''}\n")


def main() -> int:
    """Run the mutants in children and print what went wrong; return 1 if anything did."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    outcomes: dict[str, int] = {}
    wrong = 0
    first = 0
    while first < count:
        last = min(first + BATCH, count)
        command = [sys.executable, "-m", "tests.benchmarks.fuzz_ptx", "child", str(seed), str(first), str(last)]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=BATCH * 2 + SECONDS_EACH, check=False, cwd=ROOT
            )
            lines, code = run.stdout.splitlines(), run.returncode
            tail = run.stderr[-300:]
        except subprocess.TimeoutExpired as reason:
            lines, code, tail = (reason.stdout or b"").decode().splitlines(), -1, "timeout"
        done = first
        for line in lines:
            number, _, outcome = line.partition(" ")
            done = int(number) + 1
            outcomes[outcome.split(" ")[0]] = outcomes.get(outcome.split(" ")[0], 0) + 1
            if outcome.startswith("FAILED") or "SLOW" in outcome or not outcome:
                wrong += 1
                sys.stdout.write(f"mutant {number}: {outcome or f'ended the process ({code}): {tail}'}\n")
        if code and done == first:
            sys.stdout.write(f"mutant {first}: the child failed ({code}): {tail}\n")
            return 1
        first = done if code else last
    sys.stdout.write(f"{count} mutants: {outcomes}\n")
    return int(wrong > 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "child":
        child(*(int(item) for item in sys.argv[2:5]))
    else:
        sys.exit(main())
