"""The command that examines this machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rt_sched.cli.shared import EXIT_OK, EXIT_UNKNOWN, Json, app, console, print_json
from rt_sched.errors import DeploymentError


@app.command(short_help="What this machine can give the paced runtime, and costs.")
def doctor(
    need: Annotated[
        str, typer.Option(metavar="TIER", help="The tier that is needed: deadline, fifo or user; without it exit 3.")
    ] = "user",
    quick: Annotated[bool, typer.Option("--quick", help="Measure for a moment only.")] = False,
    as_json: Json = False,
) -> None:
    """Examine this machine: which tiers of the paced runtime it allows, what stands in the way, how to mend it."""
    if sys.platform != "linux":
        raise DeploymentError(
            f"the paced runtime needs Linux, and this is {sys.platform}; replay in lockstep runs here"
        )
    from rt_sched.app.doctor.examine import examine
    from rt_sched.runtime.host.tiers import Tier

    names = [tier.value for tier in Tier]
    if need not in names:
        raise typer.BadParameter(f"{need!r} is no tier; valid: {', '.join(names)}", param_hint="--need")
    document = examine(Tier(need), lambda text: typer.echo(f"{text} ...", err=True), quick=quick)
    if as_json:
        print_json(document)
    else:
        from rt_sched.app.doctor.tables import print_examination

        print_examination(document, console())
    raise typer.Exit(EXIT_OK if document["status"] == "ok" else EXIT_UNKNOWN)
