"""Every rule that a plan must obey, derived independently of how the plan was made."""
