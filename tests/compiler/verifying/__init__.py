"""Every invariant of a plan, found independently of how it was made."""
