"""`python -m app`: the same as `warploom`."""

from app.cli import main

main()
