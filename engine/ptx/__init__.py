"""Parses PTX text to a typed tree, and extracts the facts about its kernels that callers need."""

from warploom.engine.ptx.lexer import PtxSyntaxError
from warploom.engine.ptx.parser import parse, read_signatures
from warploom.engine.ptx.tree import Function, KernelParameter, KernelSignature, PtxModule

__all__ = ["Function", "KernelParameter", "KernelSignature", "PtxModule", "PtxSyntaxError", "parse", "read_signatures"]
