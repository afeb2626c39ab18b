"""Where runs and repetitions come from: stores on disk, a Jaeger."""
