"""Linear algebra with dense matrices, by BLAS and LAPACK."""
