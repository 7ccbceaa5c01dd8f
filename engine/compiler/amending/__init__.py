"""A plan and a graph after a small edit, from those before it."""
