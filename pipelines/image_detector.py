"""The camera stages as one function: an image array in, boxes out. For measurements and tests; a schedule has tasks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.camera import Preprocess
from pipelines.detector import Infer, Postprocess
from rt_sched.messages import CameraImage, Detections2D
from rt_sched.ports import Feeder, JobContext, StageContext

_JOB = JobContext(task="image", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)

#: Parameters that belong to the preprocessing; "output_layout" belongs to both ends.
_OF_PREPROCESS = frozenset(inspect.signature(Preprocess).parameters) - {"model", "output_layout"}


class ImageDetector:
    """Runs preprocessing, network and postprocessing on single images. Use as a context manager.

    `model`: path of the ONNX file, relative to `base_dir`; the shipped detector for None. `parameters`: those of
    `pipelines.camera.Preprocess` and `pipelines.detector.Postprocess`. Raises ValueError for a parameter that neither
    has or that is out of range, DeploymentError at start for a model that does not fit.
    """

    def __init__(self, model: str | None = None, *, base_dir: Path | None = None, **parameters: Any) -> None:
        self._base_dir = base_dir or Path()
        before: dict[str, Any] = {name: value for name, value in parameters.items() if name in _OF_PREPROCESS}
        after: dict[str, Any] = {name: value for name, value in parameters.items() if name not in _OF_PREPROCESS}
        before |= {"model": model, "output_layout": parameters.get("output_layout", "auto")}
        try:
            self._preprocess, self._postprocess = Preprocess(**before), Postprocess(**after)
        except TypeError as error:
            raise ValueError(str(error)) from error
        self._infer = Infer(model=model)
        first = {"tensor": Feeder("preprocess", "pipelines.camera:Preprocess", before)}
        self._feeders = first | {"raw": Feeder("infer", "pipelines.detector:Infer", {"model": model}, first)}
        self._started: list[Preprocess | Infer | Postprocess] = []

    def start(self) -> ImageDetector:
        """Loads the model."""
        context = StageContext("image", self._base_dir, {}, feeders=self._feeders)
        try:
            for stage in (self._preprocess, self._infer, self._postprocess):
                stage.start(context)
                self._started.append(stage)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Gives the model back."""
        while self._started:
            self._started.pop().stop()

    def __enter__(self) -> ImageDetector:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, bgr: npt.NDArray[np.uint8]) -> Detections2D:
        """Objects in `bgr`: uint8[height, width, 3], blue, green, red. Boxes in pixels of that array."""
        height, width = bgr.shape[:2]
        message: Mapping[str, Any] = {"image": CameraImage(0, "image", bgr, height, width)}
        tensor = self._preprocess.process(_JOB, message)
        return self._found(self._postprocess.process(_JOB, self._infer.process(_JOB, tensor)))

    @staticmethod
    def _found(outputs: Mapping[str, Any]) -> Detections2D:
        detections: Detections2D = outputs["detections"]
        return detections
