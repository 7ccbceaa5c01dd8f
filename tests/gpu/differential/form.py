"""An instruction form to test, and the families that the tables are made of."""

from dataclasses import dataclass

from tests.gpu.differential.kinds import KINDS, Kind
from tests.gpu.differential.rules import EXACT, NUMBER, Rule

RESULTS, OPERANDS = ("%d", "%e", "%f", "%g"), ("%a", "%b", "%c", "%x", "%y")


@dataclass(frozen=True)
class Form:
    """PTX lines with typed operands: results are %d, %e, %f, %g, operands %a, %b, %c, %x, %y.

    The lines may declare registers and labels of their own. `zone` is "", or the initial value ("zero", "ones",
    "random") of the 64 words of 64 bits at %m; all threads share the words, and their final values are compared.
    `thread_block` is 0 if the results do not depend on how threads are grouped beyond warps.
    """

    name: str
    family: str
    lines: str
    outputs: tuple[Kind, ...]
    inputs: tuple[Kind, ...]
    rule: Rule
    zone: str = ""
    zone_kind: Kind = KINDS["u64"]
    thread_block: int = 0
    in_programs: bool = True

    @property
    def is_exact(self) -> bool:
        """Return whether PTX defines every bit of the result, except for the bits of a NaN."""
        return self.rule in (EXACT, NUMBER)


class Family:
    """The forms of one table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.forms: list[Form] = []

    def add(
        self,
        name: str,
        outputs: str,
        inputs: str,
        lines: str = "",
        *,
        rule: Rule | None = None,
        zone: str = "",
        zone_kind: str = "u64",
        thread_block: int = 0,
        in_programs: bool = True,
    ) -> None:
        """Add a form. Without `lines`, the form is the instruction `name` with its results and operands in order."""
        results, operands = (tuple(KINDS[item] for item in text.split()) for text in (outputs, inputs))
        if not lines:
            lines = f"{name} {', '.join((*RESULTS[: len(results)], *OPERANDS[: len(operands)]))};"
        if rule is None:
            rule = NUMBER if any(kind.format for kind in results) else EXACT
        self.forms.append(
            Form(name, self.name, lines, results, operands, rule, zone, KINDS[zone_kind], thread_block, in_programs)
        )
