"""Which camera a stage works for."""

from __future__ import annotations

from pipelines.parameters import nearest
from rt_sched.errors import DeploymentError
from rt_sched.ports import StageContext


def camera_of(context: StageContext, wanted: str | None) -> str:
    """The parameter, else the camera with the longest name that the task's name contains, else the only camera.

    Raises DeploymentError when that leaves it unclear.
    """
    cameras = sorted(name for name, sensor in context.sensors.items() if sensor.kind == "camera")
    if wanted is not None:
        if context.sensors and wanted not in cameras:
            raise DeploymentError(f"task {context.task}: camera {wanted!r} is not a camera; {nearest(wanted, cameras)}")
        return wanted
    if not context.sensors:
        return context.task
    named = sorted((name for name in cameras if name in context.task), key=len)
    if named:
        return named[-1]
    if len(cameras) == 1:
        return cameras[0]
    raise DeploymentError(
        f"task {context.task}: which camera its boxes belong to is unclear; set the parameter camera to one of: "
        f"{', '.join(cameras) if cameras else '(the system has no camera)'}"
    )
