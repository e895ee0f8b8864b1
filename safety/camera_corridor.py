"""A backup path of one camera: brakes for what grows in the lane ahead, without detector, tracker or LiDAR.

It shares no code with the primary path's stages. See `safety.looming` for how growth is measured. A camera alone is
weaker than a LiDAR, and the stage asks for less: it never asks for emergency braking, which the arbiter would carry
out in every state, and without a known lens and mounting it warns and does not brake.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DeploymentError
from rt_sched.messages.control import Command
from rt_sched.messages.sensor import EncodedImage
from rt_sched.ports.stage import JobContext, Rejected, SensorDescription, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S
from safety.command_sequence import MAX_PAUSE_NS, CommandSequence
from safety.grey_picture import grey
from safety.looming import BOX_STEP, View, growth_ahead, view_of
from safety.parameters import checked

#: Pictures that are compared lie about this far apart, and no nearer or further than these; one is kept each such step.
BASE_NS = 150 * NS_PER_MS
LEAST_BASE_NS, MOST_BASE_NS = 60 * NS_PER_MS, 350 * NS_PER_MS
KEPT_EACH_NS = 25 * NS_PER_MS

#: What closes in is confirmed by this many measurements within the window, at least this far apart, and this share.
CONFIRMING = 3
WINDOW_NS, SPAN_NS = 400 * NS_PER_MS, 150 * NS_PER_MS
CONFIRMING_SHARE = 0.4

#: Growth counts less this many of its standard errors.
ERRORS_OFF = 2.0

#: Points that are followed, their least distance in pixels, and how near one must come back to where it was.
MOST_POINTS = 150
POINTS_APART_PX = 4
RETURN_PX = 0.5

#: Nearest gap that is looked at, and how much more of the picture than the boxes is kept, in pixels.
NEAREST_M = 3.0
MARGIN_PX = 24

#: Least standard deviation of a picture that shows something, in grey levels.
LEAST_CONTRAST = 3.0

#: Without a known lens and mounting: horizontal angle of view, and where the camera sits, looking straight ahead.
ASSUMED_FOV_RAD = math.radians(60.0)
ASSUMED_POSE = ((0.0, 0.0, 1.0, 1.5), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.4))


@dataclass(frozen=True, slots=True)
class _Setup:
    """What depends on the size of the pictures. `window`: rows and columns that are kept; `mask`: the boxes in it."""

    shape: tuple[int, ...]
    view: View
    window: tuple[slice, slice]
    mask: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Measured:
    """One comparison of two pictures. `rate_hz`: 1 / time to contact of the bumper; `sure_hz`: the same less errors."""

    stamp_ns: int
    rate_hz: float
    sure_hz: float


class CameraCorridor(StageBase):
    """A camera's pictures -> a braking command. Input `image`: EncodedImage; output `command`: Command.

    Stateful: growth comes from successive pictures.

    `camera`: sensor name for view, lens and mounting; None takes that which the
    input comes from, or the only one of the run. `ego_front_m`: front
    bumper ahead of the vehicle's origin. `range_m`: how far ahead of it something is looked for.
    `brake_ttc_s`, `hard_ttc_s`: times to contact at and below which it brakes with `brake_deceleration_m_s2` and
    `hard_deceleration_m_s2`. `clear_deceleration_m_s2`: asked for otherwise. `release_m_s3`: how fast it lets go.
    Where lens or mounting of the camera is not known it states the time to contact and asks for no more than
    `clear_deceleration_m_s2`.
    Raises ValueError for a parameter out of range; rejects what is no picture, one without contrast, one that repeats
    the last pixel by pixel, and one that is not newer.
    """

    inputs: ClassVar[Mapping[str, type]] = {"image": EncodedImage}
    outputs: ClassVar[Mapping[str, type]] = {"command": Command}
    stateful: ClassVar[bool] = True
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"camera": ("camera",)}

    def __init__(
        self,
        *,
        camera: str | None = None,
        ego_front_m: float = 2.0,
        range_m: float = 40.0,
        brake_ttc_s: float = 2.8,
        hard_ttc_s: float = 2.0,
        brake_deceleration_m_s2: float = 4.0,
        hard_deceleration_m_s2: float = 8.0,
        clear_deceleration_m_s2: float = 0.5,
        release_m_s3: float = 20.0,
    ) -> None:
        self._camera_wanted = camera
        self._front_m = checked("ego_front_m", ego_front_m, 0.0, 20.0)
        range_m = checked("range_m", range_m, 2.0 * NEAREST_M, 100.0)
        boxes = math.floor(math.log(range_m / NEAREST_M, BOX_STEP)) + 1
        self._gaps_m = NEAREST_M * np.power(BOX_STEP, np.arange(boxes, dtype=np.float64))
        self._brake_ttc_s = checked("brake_ttc_s", brake_ttc_s, 0.1, 6.0)
        self._hard_ttc_s = checked("hard_ttc_s", hard_ttc_s, 0.0, self._brake_ttc_s)
        self._hard_m_s2 = checked("hard_deceleration_m_s2", hard_deceleration_m_s2, 0.1, 10.0)
        self._brake_m_s2 = checked("brake_deceleration_m_s2", brake_deceleration_m_s2, 0.1, self._hard_m_s2)
        self._clear_m_s2 = checked("clear_deceleration_m_s2", clear_deceleration_m_s2, 0.0, self._brake_m_s2)
        self._release_m_s3 = checked("release_m_s3", release_m_s3, 0.1, 1000.0)
        self._camera = camera or "camera"
        self._sensor: SensorDescription | None = None
        self._forget()

    def _forget(self) -> None:
        self._commands = CommandSequence(self._release_m_s3, "picture")
        self._setup: _Setup | None = None
        self._last_ns: int | None = None
        self._kept: list[tuple[int, npt.NDArray[np.uint8]]] = []
        self._newest: npt.NDArray[np.uint8] | None = None
        self._compared: list[int] = []
        self._measured: list[_Measured] = []

    @property
    def brakes(self) -> bool:
        """Whether lens and mounting are known; without them it only warns."""
        return self._sensor is not None and None not in (self._sensor.intrinsics, self._sensor.sensor_to_vehicle)

    def start(self, context: StageContext) -> None:
        import cv2

        cv2.setNumThreads(1)
        self._cv2: Any = cv2
        cameras = sorted(name for name, sensor in context.sensors.items() if sensor.kind == "camera")
        source = context.sources.get("image")
        wanted = self._camera_wanted or (source if source in cameras else None)
        if wanted is not None and cameras and wanted not in cameras:
            raise DeploymentError(
                f"task {context.task}: camera {wanted!r} is no camera of this run; valid: {', '.join(cameras)}"
            )
        if source in cameras and wanted != source:
            raise DeploymentError(
                f"task {context.task}: its pictures come from {source}, the parameter camera names {wanted}; "
                "the lens of one does not fit the pictures of the other"
            )
        if wanted is None and len(cameras) > 1:
            raise DeploymentError(
                f"task {context.task}: several cameras ({', '.join(cameras)}); name one with the parameter camera"
            )
        self._camera = wanted or (cameras[0] if cameras else "camera")
        self._sensor = context.sensors.get(self._camera)
        self._forget()
        pose = None if self._sensor is None else self._sensor.sensor_to_vehicle
        if pose is not None and pose[0][2] < 0.5:
            raise DeploymentError(
                f"task {context.task}: camera {self._camera!r} does not look ahead; a backup path needs one that does"
            )

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        image: EncodedImage | None = inputs.get("image")
        if image is None:
            raise Rejected("no picture to decide on")
        stamp_ns = image.capture_time_ns
        self._commands.check_order(stamp_ns)
        picture = grey(image, self._cv2)
        if float(self._cv2.meanStdDev(picture)[1][0, 0]) < LEAST_CONTRAST:
            raise Rejected("the picture shows no contrast: nothing can be seen in it")
        setup = self._setup_for(picture, image)
        window = np.ascontiguousarray(picture[setup.window])
        if self._last_ns is not None and not 0 < stamp_ns - self._last_ns <= MAX_PAUSE_NS:
            self._kept, self._newest, self._compared, self._measured = [], None, [], []
        if self._newest is not None and np.array_equal(window, self._newest):
            raise Rejected("the picture repeats the last one pixel by pixel: the camera has stopped")
        self._compare(stamp_ns, window, setup)
        self._keep(stamp_ns, window)
        ttc_s = self._time_to_contact_s(stamp_ns)
        wanted_m_s2 = self._clear_m_s2
        if ttc_s is not None and self.brakes:
            wanted_m_s2 = self._hard_m_s2 if ttc_s <= self._hard_ttc_s else self._brake_m_s2
        command = self._commands.next(
            stamp_ns,
            self._camera,
            -wanted_m_s2,
            emergency=False,
            time_to_collision_ns=None if ttc_s is None else math.floor(ttc_s * NS_PER_S),
        )
        return {"command": command}

    def _setup_for(self, picture: npt.NDArray[np.uint8], image: EncodedImage) -> _Setup:
        if self._setup is not None and self._setup.shape == picture.shape:
            return self._setup
        rows, columns = picture.shape
        view = self._view(rows, columns)
        boxes = [box for gap_m in self._gaps_m if (box := view.box(float(gap_m))) is not None]
        mask = np.zeros((rows, columns), np.uint8)
        for left, top, right, bottom in boxes:
            mask[max(0, round(top)) : max(0, round(bottom)), max(0, round(left)) : max(0, round(right))] = 255
        rows_in, columns_in = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        if not len(rows_in):
            raise Rejected(f"the lane ahead lies outside the picture of {self._camera}; is its mounting right?")
        window = (
            slice(max(0, int(rows_in[0]) - MARGIN_PX), int(rows_in[-1]) + MARGIN_PX),
            slice(max(0, int(columns_in[0]) - MARGIN_PX), int(columns_in[-1]) + MARGIN_PX),
        )
        self._kept, self._newest, self._compared, self._measured = [], None, [], []
        self._setup = _Setup(picture.shape, view, window, np.ascontiguousarray(mask[window]))
        return self._setup

    def _view(self, rows: int, columns: int) -> View:
        """The lens at the size of the pictures that are looked at."""
        sensor = self._sensor
        intrinsics = None if sensor is None else sensor.intrinsics
        pose = None if sensor is None else sensor.sensor_to_vehicle
        if sensor is None or intrinsics is None or not sensor.image_width:
            focal = columns / 2.0 / math.tan(ASSUMED_FOV_RAD / 2.0)
            return view_of((focal, focal, columns / 2.0, rows / 2.0), pose or ASSUMED_POSE, self._front_m)
        return view_of(intrinsics, pose or ASSUMED_POSE, self._front_m, columns / sensor.image_width)

    def _keep(self, stamp_ns: int, window: npt.NDArray[np.uint8]) -> None:
        self._last_ns, self._newest = stamp_ns, window
        if not self._kept or stamp_ns - self._kept[-1][0] >= KEPT_EACH_NS:
            self._kept = [kept for kept in self._kept if stamp_ns - kept[0] <= MOST_BASE_NS] + [(stamp_ns, window)]

    def _compare(self, stamp_ns: int, window: npt.NDArray[np.uint8], setup: _Setup) -> None:
        """Adds what a comparison with an earlier picture shows to the measurements."""
        old = [kept for kept in self._kept if LEAST_BASE_NS <= stamp_ns - kept[0] <= MOST_BASE_NS]
        if not old:
            return
        before_ns, before = min(old, key=lambda kept: abs(stamp_ns - kept[0] - BASE_NS))
        self._compared = [at for at in self._compared if stamp_ns - at <= WINDOW_NS] + [stamp_ns]
        self._measured = [at for at in self._measured if stamp_ns - at.stamp_ns <= WINDOW_NS]
        new_px, old_px = self._followed(window, before, setup)
        growth = growth_ahead(new_px, old_px, setup.view, self._gaps_m)
        if growth is None:
            return
        base_s = (stamp_ns - before_ns) / NS_PER_S
        # The lens meets the obstacle later than the bumper does.
        sooner = (growth.gap_m + setup.view.lens_to_bumper_m) / growth.gap_m
        rate_hz, error_hz = (growth.scale - 1.0) / base_s * sooner, growth.error / base_s * sooner
        self._measured.append(_Measured(stamp_ns, rate_hz, rate_hz - ERRORS_OFF * error_hz))

    def _followed(
        self, now: npt.NDArray[np.uint8], before: npt.NDArray[np.uint8], setup: _Setup
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Corners in the boxes, float64[n, 2] each: where they are and were, in pixels of the whole picture."""
        corners = self._cv2.goodFeaturesToTrack(now, MOST_POINTS, 0.02, POINTS_APART_PX, mask=setup.mask, blockSize=5)
        if corners is None:
            return np.zeros((0, 2)), np.zeros((0, 2))
        options = {"winSize": (15, 15), "maxLevel": 3, "criteria": (3, 15, 0.03)}
        were, there, _ = self._cv2.calcOpticalFlowPyrLK(now, before, corners, None, **options)
        again, back, _ = self._cv2.calcOpticalFlowPyrLK(before, now, were, None, **options)
        good = (there.ravel() == 1) & (back.ravel() == 1) & (np.abs(again - corners).max(axis=(1, 2)) < RETURN_PX)
        rows, columns = setup.window
        corner_px = np.array([columns.start, rows.start], np.float64)
        return corners[good, 0] + corner_px, were[good, 0] + corner_px

    def _time_to_contact_s(self, stamp_ns: int) -> float | None:
        """From the last measurements, where enough of them agree that something closes in; None otherwise."""
        closing = [at for at in self._measured if at.sure_hz * self._brake_ttc_s >= 1.0]
        if len(closing) < CONFIRMING or closing[-1].stamp_ns - closing[0].stamp_ns < SPAN_NS:
            return None
        if len(closing) < CONFIRMING_SHARE * sum(at >= closing[0].stamp_ns for at in self._compared):
            return None
        rate_hz = median(at.rate_hz for at in closing[-CONFIRMING:])
        return max(0.0, 1.0 / rate_hz - (stamp_ns - closing[-1].stamp_ns) / NS_PER_S)
