"""Solutions of linear systems, and factors of matrices."""
