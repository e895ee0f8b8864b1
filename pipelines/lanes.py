"""Where the road ahead is: from lane markings without a network, or from a segmentation network by configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines import onnx_session
from pipelines.cameras import camera_of
from pipelines.detector import acquire_model, feeding_model
from pipelines.ground_view import Float, GroundGrid, geometry_of
from pipelines.lane_markings import Lane, find_ridges, fit_lane
from pipelines.lidar import VEHICLE_FRAME
from pipelines.parameters import checked_choice, checked_integer, checked_number, checked_path
from pipelines.projection import CameraGeometry
from rt_sched.errors import DataError, DeploymentError
from rt_sched.messages import CameraImage, EncodedImage, RoadCorridor, Tensor
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext

#: A frame of this width shows markings as far as they are looked for; a larger jpeg is decoded at reduced size.
_USEFUL_WIDTH = 640


class LaneMarkings(StageBase):
    """Camera frame -> the own lane by its painted markings. Input `image`: EncodedImage; output `corridor`:
    RoadCorridor.

    No network. The frame is seen from above through the camera's calibration, on flat ground; see
    `pipelines.lane_markings` for how markings are found. An edge without a marking is assumed at the usual width from
    the other one; without any marking the corridor is straight ahead, and its confidence is 0. Not found are edges of
    roads without markings, kerbs, and lanes in junctions.

    Parameters:
        camera: sensor that the frames come from; found in the task's name when not given.
        near_m, far_m: where the corridor begins and ends, ahead of the vehicle's origin.
        lane_width_m: assumed where only one edge is marked. min_width_m, max_width_m: of lanes that are believed.
        ground_z_m: height of the road in the vehicle frame.

    Raises ValueError for parameters out of range, DeploymentError for a camera without calibration, Rejected for a
    frame that cannot be decoded.
    """

    inputs: ClassVar[Mapping[str, type]] = {"image": EncodedImage}
    outputs: ClassVar[Mapping[str, type]] = {"corridor": RoadCorridor}
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"camera": ("camera",)}

    def __init__(
        self,
        *,
        camera: str | None = None,
        near_m: float = 6.0,
        far_m: float = 35.0,
        lane_width_m: float = 3.5,
        min_width_m: float = 2.4,
        max_width_m: float = 4.8,
        ground_z_m: float = 0.0,
    ) -> None:
        self._wanted_camera = camera
        near, far = _checked_range(near_m, far_m)
        self._widths_m = (
            checked_number("min_width_m", min_width_m, low=1.0, high=10.0, unit="m"),
            checked_number("max_width_m", max_width_m, low=min_width_m, high=10.0, unit="m"),
        )
        self._lane_width_m = checked_number("lane_width_m", lane_width_m, low=min_width_m, high=max_width_m, unit="m")
        ground = checked_number("ground_z_m", ground_z_m, low=-5.0, high=5.0, unit="m")
        # Markings may lie beyond the lane's width where the road bends.
        self._grid = GroundGrid.of(near, far, 2.0 * max_width_m, 0.25, 0.05, ground)
        self._views: dict[tuple[int, int], tuple[Float, Float, npt.NDArray[np.bool_]]] = {}
        self._camera = ""
        self._geometry: CameraGeometry | None = None

    def start(self, context: StageContext) -> None:
        import cv2

        cv2.setNumThreads(1)
        self._camera = camera_of(context, self._wanted_camera)
        self._geometry = geometry_of(context, self._camera)
        self._views = {}

    def pixels_needed(self, height: int, width: int) -> tuple[int, int]:
        """Height and width that show the markings, in pixels."""
        return 1, _USEFUL_WIDTH

    def preprocess(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Decodes the frame, at reduced size where it is large."""
        from sensors.decode_ahead import frame_pixels

        try:
            return {"image": frame_pixels(inputs["image"], self.pixels_needed)}
        except DataError as error:
            raise Rejected(str(error)) from error

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        image: CameraImage = inputs["image"]
        if self._geometry is None:
            raise DeploymentError(f"task {job.task}: the stage was not started")
        brightness, shown = self._from_above(image.bgr, self._geometry)
        grid = self._grid
        rows_columns = find_ridges(brightness, shown, float(grid.across_m[1] - grid.across_m[0])).astype(np.int64)
        points = np.stack((grid.stations_m[rows_columns[:, 0]], grid.across_m[rows_columns[:, 1]]), axis=1)
        lane = (
            fit_lane(points, grid.stations_m, widths_m=self._widths_m, usual_width_m=self._lane_width_m)
            or self._assumed()
        )
        seen = float(lane.left_seen.mean() + lane.right_seen.mean()) / 2.0
        return {
            "corridor": RoadCorridor(
                capture_time_ns=image.capture_time_ns,
                frame_id=VEHICLE_FRAME,
                camera=self._camera,
                method="markings",
                stations_m=grid.stations_m,
                left_m=lane.left_m,
                right_m=lane.right_m,
                left_seen=lane.left_seen,
                right_seen=lane.right_seen,
                confidence=seen,
            )
        }

    def _from_above(
        self, bgr: npt.NDArray[np.uint8], geometry: CameraGeometry
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Brightness float32[stations, across] of the ground, and which points the frame shows."""
        import cv2

        size = (bgr.shape[1], bgr.shape[0])
        view = self._views.get(size)
        if view is None:
            view = self._grid.pixels(geometry.scaled_to(*size))
            # A camera's frames have one size; the view of the last one is enough.
            self._views = {size: view}
        u, v, shown = view
        # Yellow paint is as bright as white one in red and green.
        plane = cv2.transform(bgr, np.array([[0.0, 0.5, 0.5]]))
        # OpenCV counts from the middle of the first pixel.
        seen = cv2.remap(
            plane,
            (u - 0.5).astype(np.float32),
            (v - 0.5).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        return np.asarray(seen, np.float32), shown

    def _assumed(self) -> Lane:
        count = len(self._grid.stations_m)
        half, nowhere = np.full(count, self._lane_width_m / 2.0), np.zeros(count, np.bool_)
        return Lane(half, -half, nowhere, nowhere)


class DrivableArea(StageBase):
    """Output of a segmentation network -> the drivable strip ahead. Input `raw`: Tensor; output `corridor`:
    RoadCorridor.

    The second slot for a model: `pipelines.camera:Preprocess` and `pipelines.detector:Infer` with the network's file
    come before. The network hands out a score or probability per class and pixel, [1, c, h, w] or [1, h, w, c], a class
    number per pixel, [1, h, w], [1, 1, h, w] or [1, h, w, 1], or one probability per pixel in the same shapes.

    Seen from above on flat ground, the strip is followed from station to station, from the vehicle's path outwards; it
    ends where no drivable ground adjoins. An edge at the border of the image or of the view counts as not seen.

    Parameters:
        camera: sensor that the frames come from; found in the task's name when not given.
        model: whose output this is; that of the inference before it when not given. Its output is checked at start.
        output: the output's name where the model has several.
        drivable_classes: class numbers that are drivable. threshold: least probability, where the output is one.
        channels: place of the classes, "first", "last", or "auto" where the sizes tell.
        near_m, far_m, half_width_m: the view. ground_z_m: height of the road in the vehicle frame.

    Raises ValueError for parameters out of range, DeploymentError for a camera without calibration and, with the
    model's signature, for an output of another kind.
    """

    inputs: ClassVar[Mapping[str, type]] = {"raw": Tensor}
    outputs: ClassVar[Mapping[str, type]] = {"corridor": RoadCorridor}
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"camera": ("camera",)}

    def __init__(
        self,
        *,
        camera: str | None = None,
        model: str | None = None,
        output: str | None = None,
        drivable_classes: Sequence[int] = (1,),
        threshold: float = 0.5,
        channels: str = "auto",
        near_m: float = 5.0,
        far_m: float = 40.0,
        half_width_m: float = 8.0,
        ground_z_m: float = 0.0,
    ) -> None:
        self._wanted_camera = camera
        self.model = checked_path("model", model)
        self._output = checked_path("output", output)
        if isinstance(drivable_classes, str) or not isinstance(drivable_classes, Sequence) or not drivable_classes:
            raise ValueError(f"drivable_classes: {drivable_classes!r} is not a list of class numbers, such as [0]")
        self._classes = np.array(
            [checked_integer("drivable_classes", number, low=0, high=10_000) for number in drivable_classes]
        )
        self._threshold = checked_number("threshold", threshold, low=0.0, high=1.0)
        self._channels = checked_choice("channels", channels, ("auto", "first", "last"))
        near, far = _checked_range(near_m, far_m)
        half = checked_number("half_width_m", half_width_m, low=1.0, high=30.0, unit="m")
        ground = checked_number("ground_z_m", ground_z_m, low=-5.0, high=5.0, unit="m")
        self._grid = GroundGrid.of(near, far, half, 0.5, 0.1, ground)
        self._camera = ""
        self._geometry: CameraGeometry | None = None

    def start(self, context: StageContext) -> None:
        self._camera = camera_of(context, self._wanted_camera)
        self._geometry = geometry_of(context, self._camera)
        model = self.model or feeding_model(context.feeders.get("raw"))
        if model is None:
            return
        session = acquire_model(context.base_dir, model)
        try:
            self._check_output([(output.name, output.shape) for output in session.signature.outputs])
        except ValueError as error:
            raise DeploymentError(
                f"task {context.task}: model {session.path}: {error}; it has {session.signature}"
            ) from error
        finally:
            onnx_session.release(session)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raw: Tensor = inputs["raw"]
        if self._geometry is None:
            raise DeploymentError(f"task {job.task}: the stage was not started")
        try:
            place = self._check_output([(name, array.shape) for name, array in zip(raw.names, raw.arrays, strict=True)])
            mask = self._mask(raw.arrays[place])
        except ValueError as error:
            raise DeploymentError(f"task {job.task}: {error}") from error
        u, v, shown = self._grid.pixels(self._geometry.scaled_to(raw.recorded_width, raw.recorded_height))
        columns = (u * raw.scale_xy[0] + raw.offset_xy[0]) * (mask.shape[1] / max(raw.network_width, 1))
        rows = (v * raw.scale_xy[1] + raw.offset_xy[1]) * (mask.shape[0] / max(raw.network_height, 1))
        inside = shown & (columns >= 0) & (columns < mask.shape[1]) & (rows >= 0) & (rows < mask.shape[0])
        drivable = np.zeros(inside.shape, np.bool_)
        drivable[inside] = mask[rows[inside].astype(np.int64), columns[inside].astype(np.int64)]
        return {"corridor": self._followed(raw, drivable, inside)}

    def _check_output(self, outputs: Sequence[tuple[str, tuple[int | None, ...]]]) -> int:
        """Place of the output to read; raises ValueError when it is none of the known kinds."""
        names = [name for name, _ in outputs]
        if self._output is not None and self._output not in names:
            raise ValueError(f"there is no output {self._output!r}")
        if self._output is None and len(names) != 1:
            raise ValueError(f"{len(names)} outputs; set output to the one with the classes")
        place = 0 if self._output is None else names.index(self._output)
        shape = outputs[place][1]
        if len(shape) not in (3, 4) or shape[0] not in (1, None):
            raise ValueError(f"output {names[place]} is not one picture of classes")
        if len(shape) == 4:
            axis = self._class_axis(shape)
            count = shape[axis]
            if count is not None and count > 1 and int(self._classes.max()) >= count:
                raise ValueError(f"drivable_classes: {int(self._classes.max())} of {count} classes from 0 on")
        return place

    def _class_axis(self, shape: tuple[int | None, ...]) -> int:
        if self._channels != "auto":
            return 1 if self._channels == "first" else 3
        first, last = shape[1], shape[3]
        if first is not None and (last is None or first < last):
            return 1
        if last is not None and (first is None or last < first):
            return 3
        raise ValueError("which axis holds the classes is unclear; set channels to first or last")

    def _mask(self, array: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        """bool[h, w]: which pixels of the network's output are drivable."""
        if array.ndim == 4:
            axis = self._class_axis(array.shape)
            if array.shape[axis] > 1:
                return np.isin(array.argmax(axis=axis)[0], self._classes)
            array = array.squeeze(axis)
        if np.issubdtype(array.dtype, np.integer):
            return np.isin(array[0], self._classes)
        likely: npt.NDArray[np.bool_] = array[0].astype(np.float32) >= self._threshold
        return likely

    def _followed(self, raw: Tensor, drivable: npt.NDArray[np.bool_], inside: npt.NDArray[np.bool_]) -> RoadCorridor:
        """The strip as far as drivable ground adjoins, station by station."""
        across = self._grid.across_m
        edges: list[tuple[float, float, bool, bool]] = []
        middle = 0.0
        half_step = float(across[1] - across[0]) / 2.0
        for ground, shown in zip(drivable, inside, strict=True):
            run = _run_at(ground, int(np.abs(across - middle).argmin()))
            if run is None:
                break
            first, last = run
            edges.append(
                (
                    float(across[last]) + half_step,
                    float(across[first]) - half_step,
                    last + 1 < len(across) and bool(shown[last + 1]),
                    first > 0 and bool(shown[first - 1]),
                )
            )
            middle = min(max(middle, float(across[first])), float(across[last]))
        left, right, left_seen, right_seen = np.array(edges, np.float64).reshape(-1, 4).T
        share = (left_seen.sum() + right_seen.sum()) / (2.0 * len(self._grid.stations_m))
        return RoadCorridor(
            capture_time_ns=raw.capture_time_ns,
            frame_id=VEHICLE_FRAME,
            camera=self._camera,
            method="segmentation",
            stations_m=self._grid.stations_m[: len(edges)],
            left_m=left,
            right_m=right,
            left_seen=left_seen.astype(np.bool_),
            right_seen=right_seen.astype(np.bool_),
            confidence=float(share),
        )


def _run_at(ground: npt.NDArray[np.bool_], column: int) -> tuple[int, int] | None:
    """First and last column of the drivable run that holds `column`, or the nearest within a metre of it."""
    places = np.flatnonzero(ground)
    if not len(places):
        return None
    nearest = int(places[np.abs(places - column).argmin()])
    if abs(nearest - column) > 10:
        return None
    blocked = np.flatnonzero(~ground)
    before, after = blocked[blocked < nearest], blocked[blocked > nearest]
    return (
        int(before[-1]) + 1 if len(before) else 0,
        int(after[0]) - 1 if len(after) else len(ground) - 1,
    )


def _checked_range(near_m: float, far_m: float) -> tuple[float, float]:
    near = checked_number("near_m", near_m, low=0.0, high=200.0, unit="m")
    return near, checked_number("far_m", far_m, low=near + 5.0, high=300.0, unit="m")
