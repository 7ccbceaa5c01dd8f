"""`python -m warploom`: the same as `warploom`, and `python -m warploom setup` in a clone."""

import sys

if sys.argv[1:2] == ["setup"]:  # before any library is there
    from warploom.setting_up import main as set_up

    sys.exit(set_up(sys.argv[2:]))

from warploom.app.start import main

main()
