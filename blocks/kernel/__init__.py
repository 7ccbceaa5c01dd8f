"""Your own kernels: from files, from text, drawn from ops, and from a formula."""
