"""`python -m app`: the same as `warploom`."""

from app.start import main

main()
