"""`python -m warploom`: the same as `warploom`."""

from warploom.app.start import main

main()
