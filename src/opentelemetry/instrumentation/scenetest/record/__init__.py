"""The recorder, which runs in the measured process: it observes conditions, reads the clock and writes the journal."""
