"""What runs after the run has ended: journal to OpenTelemetry spans, spans to a backend."""
