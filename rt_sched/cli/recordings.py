"""Commands about recordings: what they hold, a system file for them, and synthetic ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import Json, Log, Salvage, app, compiler_told, print_json


@app.command(short_help="Write a system file for a recording.")
def init(
    log: Log,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write.", show_default="standard output"),
    ] = None,
    host: Annotated[
        bool, typer.Option("--host", help="For paced runs on the cores of this host, in place of Orin-class devices.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    salvage: Salvage = False,
) -> None:
    """Write a system file for a recording; what had to be guessed is marked in it."""
    from rt_sched.app.init.job import write_system_for

    text = write_system_for(log, host=host, salvage=salvage, output=output, overwrite=force)
    if output is None:
        sys.stdout.write(text)


@app.command(short_help="What a recording holds, and what is damaged in it.")
def info(log: Log, salvage: Annotated[bool, typer.Option(hidden=True)] = True, as_json: Json = False) -> None:
    """Show what a recording holds: topics, types, rates, jitter, gaps, damage."""
    from rt_sched.app.info import recording_info
    from rt_sched.app.terminal import Terminal

    document = recording_info(log, salvage=salvage)
    if as_json:
        print_json(document)
    else:
        Terminal(quiet=False).show_info(document)


@app.command(short_help="Make a synthetic recording with its ground truth.")
def scene(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The scene; --list shows them.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.mcap", help="The recording.", show_default="NAME.mcap"),
    ] = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="Such as 2.5s; up to 120s.", show_default="the scene's")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the sensors' noise and latency.")] = 1,
    conditions: Annotated[
        str | None, typer.Option(help="day, night, rain or night_rain.", show_default="the scene's")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="ACTOR", help="Leave an actor out, such as lead: no pixel, no point. Repeatable."),
    ] = None,
    camera: Annotated[
        list[str] | None,
        typer.Option(metavar="CAMERA", help="Record only this camera. Repeatable.", show_default="all eight"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="List the scenes and end.")] = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic recording by name, with its ground truth in a file of its own beside it."""
    from rt_sched.app import scene as job
    from rt_sched.app.terminal import Terminal

    terminal = Terminal(quiet=as_json)
    if show_list:
        listed = job.scene_list()
        if as_json:
            print_json(listed)
        else:
            terminal.show_scenes(listed)
        raise typer.Exit
    if name is None:
        raise typer.BadParameter("missing; rt-sched scene --list shows the scenes", param_hint="NAME")
    request = job.SceneRequest(
        name=name,
        output=output,
        duration=duration,
        seed=seed,
        conditions=conditions,
        without=tuple(without or ()),
        cameras=tuple(camera) if camera else None,
        overwrite=force,
    )
    try:
        with compiler_told(terminal.note):
            document = job.make_scene(request, terminal)
    finally:
        terminal.close()
    if as_json:
        print_json(document)
    else:
        terminal.show_scene(document)
