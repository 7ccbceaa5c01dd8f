"""Patches inside blocks, which a person opens and edits: the ops of a kernel, a chain of library calls, a network."""
