"""Sound made and changed: oscillators, filters, envelopes, echoes; and its pitch."""
