"""Writers of what a run leaves behind: a trace for Perfetto, outputs for Foxglove."""
