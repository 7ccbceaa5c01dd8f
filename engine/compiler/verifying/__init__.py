"""Checks a plan against all rules that it must obey, however it was made."""
