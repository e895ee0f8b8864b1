"""The command that tries changes of a system file without writing them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import VERDICT_CODES, Json, app, compiler_told, console, print_json


@app.command("what-if", short_help="Verdicts with changes beside those without.")
def what_if(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="System file, or the short name of an example.")],
    add_camera: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:like=CAMERA,device=DEVICE]",
            help="A further camera with a pipeline like that of another, on a device. Repeatable.",
            show_default="like the first camera, where that runs",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME",
            help="Without a device, camera, lidar, imu, task, chain or link, and what needs it. Repeatable.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Another value in the file: tasks.detect.wcet=9ms. Repeatable."
        ),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="rms, dm, opa or edf.", show_default="the file's")] = None,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A plan that fits both.", show_default="made by the policy")
    ] = None,
    as_json: Json = False,
) -> None:
    """Analyse a system with changes, beside the system as it is: exit 0, 1 or 3 by the new verdict."""
    if not (add_camera or remove or setting):
        raise typer.BadParameter("say what is to change", param_hint="--add-camera, --remove or --set")
    from rt_sched.app.what_if import job

    request = job.WhatIfRequest(
        system, tuple(add_camera or ()), tuple(remove or ()), tuple(setting or ()), policy, plan
    )
    with compiler_told():
        document = job.what_if(request)
    if as_json:
        print_json(document)
    else:
        from rt_sched.app.what_if.tables import print_what_if

        print_what_if(document, console())
    raise typer.Exit(VERDICT_CODES[document["verdict"]])
