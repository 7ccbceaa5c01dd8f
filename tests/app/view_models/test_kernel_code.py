"""The code of a kernel as a person reads it, each line with its op."""

from warploom.app.view_models.ops.kernel_code import llvm_listing, ptx_listing
from warploom.engine.ops import OpGraphBuilder, compile_graph


def test_lines_come_with_their_ops_and_without_debug_information() -> None:
    g = OpGraphBuilder()
    x = g.add("op.input", "x")
    root = g.add("op.sqrt", "root", x=x["value"])
    g.add("op.output", "out", value=root["out"])
    kernel = compile_graph(g.graph())
    for listing, instruction in ((llvm_listing(kernel), "llvm.sqrt.f32"), (ptx_listing(kernel), "sqrt.rn.f32")):
        assert len(listing.lines) == len(listing.ops)
        assert set(listing.ops) == {"", "x", "root", "out"}
        (line,) = listing.lines_of({"root"})
        assert instruction in listing.lines[line]
        text = "\n".join(listing.lines)
        assert not any(mark in text for mark in ("!dbg", "!DI", ".loc", ".file", "$L__tmp", "\t"))
        assert listing.lines[0] and listing.lines[-1]
