"""The command that draws a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rt_sched.cli.shared import Json, app, console, print_json


@app.command(short_help="Draw the schedule of a recorded run.")
def chart(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or its trace.npz.")],
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME..TIME",
            help="What is drawn, such as 10ms..60ms.",
            show_default="around the longest response for its deadline",
        ),
    ] = None,
    rows: Annotated[str, typer.Option(help="What has a row: tasks or processors.")] = "tasks",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="A picture as .svg, or a page as .html."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a stretch of a recorded run's schedule: who ran when, waited, held a lock or missed its deadline."""
    from rt_sched.app.chart import ChartRequest, chart_document, charted
    from rt_sched.app.simulate.gantt import print_chart

    request = ChartRequest(run=run, window=window, rows=rows, output=output)
    drawn, title = charted(request)
    if as_json:
        print_json(chart_document(request, drawn))
    elif output is None:
        print_chart(drawn, title, console())
    else:
        for note in drawn.notes:
            typer.echo(f"note: {note}")
        typer.echo(f"chart     {output}")
