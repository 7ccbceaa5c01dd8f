"""`python -m app`: the same as `warploom`."""

from warploom.app.start import main

main()
