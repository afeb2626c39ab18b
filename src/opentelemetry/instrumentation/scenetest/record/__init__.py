"""What runs in the measured process: it observes, reads the clock and appends to the journal."""
