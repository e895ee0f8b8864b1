"""Kalman filters for boxes in one camera's image: where a box will be in the next frame, and how large.

State of a box: centre x and y in pixels, logarithm of its height, and the rate of each. The three are filtered apart,
each with white acceleration (Bar-Shalom, Li, Kirubarajan 2001, section 6.2.2); noise in pixels grows with the box,
because near objects are large and move far. The aspect is smoothed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Standard deviation of a detected edge, relative to the box's height, and at least this many pixels.
_EDGE_SIGMA, _LEAST_SIGMA_PX = 0.06, 1.0
#: Spectral density of the acceleration, (heights / s^2)^2 / Hz for the centre and (1 / s^2)^2 / Hz for the size.
_CENTER_PSD, _SIZE_PSD = 1.0, 0.25
#: Rates that a new box may have, one standard deviation: heights per second, and relative growth per second.
_NEW_CENTER_RATE, _NEW_GROWTH = 2.0, 0.7
#: Weight of a new aspect.
_ASPECT_GAIN = 0.3


class BoxFilter:
    """All boxes' arrays. `mean`: float64[n, 3, 2], value and rate; `covariance`: float64[n, 3, 2, 2]; `aspect`:
    float64[n], logarithm of width over height."""

    def __init__(self) -> None:
        self.mean: Float = np.zeros((0, 3, 2))
        self.covariance: Float = np.zeros((0, 3, 2, 2))
        self.aspect: Float = np.zeros(0)

    def __len__(self) -> int:
        return len(self.mean)

    def add(self, boxes_px: Float) -> None:
        """New boxes, float64[m, 4] as x_min, y_min, x_max, y_max."""
        values, aspect = _values(boxes_px)
        mean = np.zeros((len(boxes_px), 3, 2))
        mean[:, :, 0] = values
        height = np.exp(values[:, 2])
        covariance = np.zeros((len(boxes_px), 3, 2, 2))
        covariance[:, :, 0, 0] = _noise(height)
        covariance[:, :2, 1, 1] = ((_NEW_CENTER_RATE * height) ** 2)[:, None]
        covariance[:, 2, 1, 1] = _NEW_GROWTH**2
        self.mean = np.concatenate((self.mean, mean))
        self.covariance = np.concatenate((self.covariance, covariance))
        self.aspect = np.concatenate((self.aspect, aspect))

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Only the boxes of `mask`: bool[n]."""
        self.mean, self.covariance, self.aspect = self.mean[mask], self.covariance[mask], self.aspect[mask]

    def predict(self, dt_s: float) -> None:
        """Carries all boxes `dt_s` >= 0 ahead."""
        if dt_s <= 0.0 or not len(self):
            return
        transition = np.array([[1.0, dt_s], [0.0, 1.0]])
        shape = np.array([[dt_s**3 / 3.0, dt_s**2 / 2.0], [dt_s**2 / 2.0, dt_s]])
        height = np.exp(self.mean[:, 2, 0])
        density = np.stack((_CENTER_PSD * height**2, _CENTER_PSD * height**2, np.full(len(self), _SIZE_PSD)), axis=1)
        self.mean = self.mean @ transition.T
        self.covariance = transition @ self.covariance @ transition.T + density[:, :, None, None] * shape

    def boxes(self) -> Float:
        """float64[n, 4] as x_min, y_min, x_max, y_max."""
        center = self.mean[:, :2, 0]
        # A box that was given up on may have grown beyond all bounds; its size only has to stay finite.
        height = np.exp(np.clip(self.mean[:, 2, 0], -20.0, 20.0))
        half = np.stack((height * np.exp(self.aspect), height), axis=1) / 2.0
        return np.concatenate((center - half, center + half), axis=1)

    def update(self, rows: npt.NDArray[np.intp], boxes_px: Float) -> None:
        """Corrects the boxes `rows`, each once, by the detections `boxes_px`: float64[len(rows), 4]."""
        values, aspect = _values(boxes_px)
        variance = self.covariance[rows, :, 0, 0] + _noise(np.exp(values[:, 2]))
        gain = self.covariance[rows, :, :, 0] / variance[:, :, None]
        self.mean[rows] += gain * (values - self.mean[rows, :, 0])[:, :, None]
        # Symmetric as it stands; rounding cannot make a variance negative, gain[0] being below 1.
        self.covariance[rows] -= gain[:, :, :, None] * self.covariance[rows][:, :, 0, None, :]
        self.aspect[rows] += _ASPECT_GAIN * (aspect - self.aspect[rows])


def _values(boxes_px: Float) -> tuple[Float, Float]:
    """Centre x, centre y and logarithm of the height, float64[n, 3]; logarithm of width over height."""
    size = np.maximum(boxes_px[:, 2:] - boxes_px[:, :2], 1e-3)
    center = (boxes_px[:, :2] + boxes_px[:, 2:]) / 2.0
    return np.concatenate((center, np.log(size[:, 1:])), axis=1), np.log(size[:, 0] / size[:, 1])


def _noise(height: Float) -> Float:
    """Variance of a detection's centre x, centre y and logarithm of the height, float64[n, 3]."""
    center = np.maximum(_EDGE_SIGMA * height, _LEAST_SIGMA_PX) ** 2
    size = np.maximum(_EDGE_SIGMA, _LEAST_SIGMA_PX / height) ** 2
    return np.stack((center, center, size), axis=1)
