"""What a box of LiDAR points may be, from its size, its shape and its evidence.

Boxes enclose what was seen, which is often one side of an object: a car from behind is 1.7 m long and hardly wide. So
classes are ranges of visible sizes, and what fits none is "other". Sizes: UNECE R.E.3 limits for vehicles (12 m long
for rigid ones and 18.75 m for trains, 2.55 m wide, 4 m high), common cars, and people from a child upwards.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pipelines import lidar_boxes as columns

#: Classes in the detector's vocabulary where it has a word. "truck" stands for buses too.
CAR, TRUCK, PERSON, BICYCLE, POLE, OTHER, IMPLAUSIBLE = (
    "car", "truck", "person", "bicycle", "pole", "other", "implausible",
)  # fmt: skip

#: An object whose lowest point is this far above the ground hangs; a lorry's box may begin at the first figure.
_HANGING_M = 1.4

#: Points per square metre of the largest visible side that a solid surface returns at least: a 16-line LiDAR with 2
#: degrees between lines gives 2400 / range^2 at 0.2 degrees; a quarter of that leaves room for glass and black paint.
_DENSITY_AT_1_M = 600.0
_MAX_DENSITY = 2.0


def classify(boxes: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """One class per row of `boxes`, float64[n, COLUMNS] as `lidar_boxes.cluster_boxes` gives them.

    Implausible are boxes that hang in the air without support, and those with far fewer points than a surface of that
    size and range returns: spray, exhaust, snow, dust. Pieces of something larger than any vehicle are "other".
    """
    length, width, ground = boxes[:, columns.LENGTH], boxes[:, columns.WIDTH], boxes[:, columns.GROUND]
    half = boxes[:, columns.HEIGHT] / 2.0
    top, bottom = boxes[:, columns.Z] + half - ground, boxes[:, columns.Z] - half - ground
    middle, ends = boxes[:, columns.MIDDLE_TOP] - ground, boxes[:, columns.ENDS_TOP] - ground
    side_m2 = length * boxes[:, columns.HEIGHT]
    range_m = np.maximum(np.hypot(boxes[:, columns.X], boxes[:, columns.Y]), 1.0)
    sparse = boxes[:, columns.POINTS] < side_m2 * np.minimum(_DENSITY_AT_1_M / range_m**2, _MAX_DENSITY)

    rules: list[tuple[str, npt.NDArray[np.bool_]]] = [
        (IMPLAUSIBLE, (bottom > _HANGING_M) | sparse),
        (OTHER, boxes[:, columns.PIECE] > 0.0),
        (POLE, (length <= 0.45) & (top >= 1.2) & (boxes[:, columns.HEIGHT] >= 4.0 * length)),
        (PERSON, (length <= 1.1) & (width <= 1.0) & (top >= 0.9) & (top <= 2.1)),
        # A rider sits between two wheels that reach half as high.
        (BICYCLE, (length <= 2.3) & (width <= 1.0) & (top >= 1.2) & (top <= 2.2) & (ends <= 0.78 * middle)),
        (TRUCK, (length >= 1.6) & (length <= 18.75) & (width <= 3.0) & (top > 2.2) & (top <= 4.5)),
        (CAR, (length >= 1.1) & (length <= 6.0) & (width <= 2.4) & (top >= 0.8) & (top <= 2.2)),
    ]
    found = np.full(len(boxes), OTHER, dtype=object)
    for name, holds in reversed(rules):
        found[holds] = name
    return tuple(found.tolist())
