"""Groups: blocks of a patch that a person opens on their own, behind ports and parameters of the group."""
