"""What a network's stages and the `pipelines.camera:Preprocess` before them have to agree about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipelines.camera import Preprocess
from pipelines.detector_layouts import OutputLayout
from pipelines.detector_settings import DetectorSettings
from pipelines.model_input import CUSTOMS, PictureShape
from rt_sched.errors import DeploymentError
from rt_sched.ports import Feeder, StageContext

_PREPROCESS = "pipelines.camera:Preprocess"


def made_picture(feeder: Feeder | None, base_dir: Path) -> PictureShape | None:
    """What a connected preprocessing makes; None for another stage or none. Raises DeploymentError."""
    if feeder is None or feeder.stage != _PREPROCESS:
        return None
    preprocess = Preprocess(**feeder.parameters)
    try:
        return preprocess.picture(base_dir)[0]
    finally:
        preprocess.stop()


def refuse_other_model(context: StageContext, model: str | None, *, shipped: Path) -> None:
    """Raises DeploymentError where the preprocessing names another model than this inference, `shipped` for None."""
    feeder = context.feeders.get("tensor")
    if feeder is None or feeder.stage != _PREPROCESS:
        return
    other = Preprocess(**feeder.parameters).model
    own = shipped if model is None else context.base_dir / model
    if other is not None and (context.base_dir / other).resolve() != own.resolve():
        raise DeploymentError(
            f"task {context.task}: model {model or 'the shipped one'!r} is not the one of task {feeder.task}, {other!r}"
        )


def agreed_settings(stated: DetectorSettings, feeder: Feeder | None, task: str) -> DetectorSettings:
    """The settings as `task` states them, with the output layout that the preprocessing names.

    Raises DeploymentError where both name another.
    """
    if feeder is None or feeder.stage != _PREPROCESS:
        return stated
    named = Preprocess(**feeder.parameters).output_layout
    if named == "auto" or stated.output_layout == named:
        return stated
    if stated.output_layout != "auto":
        raise DeploymentError(
            f"task {task}: output_layout {stated.output_layout!r} contradicts that of task {feeder.task}, {named!r}; "
            "both are of the same network"
        )
    return replace(stated, output_layout=named)


def refuse_other_custom(feeder: Feeder | None, base_dir: Path, layout: OutputLayout, task: str) -> None:
    """Raises DeploymentError where the preprocessing makes pictures as networks of another form want them."""
    if feeder is None or feeder.stage != _PREPROCESS:
        return
    preprocess = Preprocess(**feeder.parameters)
    try:
        shape, custom = preprocess.picture(base_dir)
    finally:
        preprocess.stop()
    if custom != CUSTOMS[layout.name] and not preprocess.follows_no_custom(shape):
        raise DeploymentError(
            f"task {task} reads the network's output as {layout.name}, but task {feeder.task} makes pictures as "
            f"other networks want them; set output_layout: {layout.name} in {feeder.task}, or resize, channels and "
            "value_range there"
        )
