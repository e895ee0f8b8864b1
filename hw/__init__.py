"""Hardware: SoC catalogue and operating points."""
