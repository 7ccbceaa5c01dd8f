"""Value blocks whose numbers move over time: waves, ramps, and numbers that follow others."""
