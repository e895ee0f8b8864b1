"""The command line: arguments in, exit code out. Each command's work lies in `rt_sched.app`."""

import sys

try:
    # In the order of the help.
    from rt_sched.cli import runs, simulation, recordings, systems, analysis  # isort: skip
    from rt_sched.cli import planning, what_if, faults, charts, reports, comparisons, host, profile  # isort: skip
    from rt_sched.cli.entry import main
except KeyboardInterrupt:  # loading typer takes longer than all else that happens before `main` can catch it
    sys.stderr.write("rt-sched: interrupted\n")
    sys.exit(130)

__all__ = [
    "analysis",
    "charts",
    "comparisons",
    "faults",
    "host",
    "main",
    "planning",
    "profile",
    "recordings",
    "reports",
    "runs",
    "simulation",
    "systems",
    "what_if",
]
