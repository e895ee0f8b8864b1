"""Rotations in three dimensions: rotation vectors, matrices and quaternions (w, x, y, z), right-handed, in radians."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]


def cross(one: Float, other: Float) -> Float:
    """one x other for two vectors, without the overhead of the general function."""
    a, b, c = one.tolist()
    x, y, z = other.tolist()
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


def cross_matrix(vector: Float) -> Float:
    """float64[3, 3] S with S @ b = vector x b."""
    x, y, z = float(vector[0]), float(vector[1]), float(vector[2])
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def matrix_of_vector(vector: Float) -> Float:
    """float64[3, 3] for a rotation vector (Rodrigues' formula)."""
    angle = math.sqrt(float(vector @ vector))
    cross = cross_matrix(vector)
    if angle < 1e-8:
        return np.eye(3) + cross
    turned: Float = (
        np.eye(3) + math.sin(angle) / angle * cross + (1.0 - math.cos(angle)) / (angle * angle) * (cross @ cross)
    )
    return turned


def matrices_of_vectors(vectors: Float) -> Float:
    """float64[n, 3, 3] for rotation vectors float64[n, 3]."""
    angle = np.sqrt((vectors * vectors).sum(axis=1))
    safe = np.where(angle < 1e-8, 1.0, angle)
    cross = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -z, y, -x
    cross[:, 1, 0], cross[:, 2, 0], cross[:, 2, 1] = z, -y, x
    first = np.where(angle < 1e-8, 1.0, np.sin(safe) / safe)[:, None, None]
    second = np.where(angle < 1e-8, 0.5, (1.0 - np.cos(safe)) / (safe * safe))[:, None, None]
    turned: Float = np.eye(3) + first * cross + second * (cross @ cross)
    return turned


def quaternion_of_matrix(rotation: Float) -> tuple[float, float, float, float]:
    """Unit quaternion with w >= 0 (Shepperd 1978: the largest component is computed first)."""
    m = rotation
    trace = float(m[0, 0] + m[1, 1] + m[2, 2])
    squares = (1.0 + trace, *(1.0 - trace + 2.0 * float(m[i, i]) for i in range(3)))
    largest = max(range(4), key=lambda i: squares[i])
    four = 2.0 * math.sqrt(max(squares[largest], 0.0))
    skew = (float(m[2, 1] - m[1, 2]), float(m[0, 2] - m[2, 0]), float(m[1, 0] - m[0, 1]))
    if largest == 0:
        values = [four / 4.0, *(s / four for s in skew)]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        values = [skew[i] / four, 0.0, 0.0, 0.0]
        values[1 + i] = four / 4.0
        values[1 + j] = float(m[j, i] + m[i, j]) / four
        values[1 + k] = float(m[k, i] + m[i, k]) / four
    sign = -1.0 if values[0] < 0.0 else 1.0
    return (sign * values[0], sign * values[1], sign * values[2], sign * values[3])


def upright(up: Float) -> Float:
    """float64[3, 3] from axes in which `up` (unit vector) points up to level ones, x staying as far ahead as it can."""
    ahead = np.array([1.0, 0.0, 0.0]) if abs(float(up[0])) < 0.99 else np.array([0.0, 0.0, -math.copysign(1.0, up[0])])
    ahead = ahead - float(ahead @ up) * up
    ahead /= math.sqrt(float(ahead @ ahead))
    return np.stack((ahead, cross(up, ahead), up))
