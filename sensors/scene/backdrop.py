# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"
"""Kernels of the camera renderer: ground and sky per pixel, and the step from canvas to finished frame.

Only additions, products, quotients and square roots of float64 and integers are used, so that every machine
computes the same bytes. Arrays and numbers in, arrays filled in place; nothing is raised.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rt_sched.kernels.compiling.kernel import cached


@cached(nogil=True)
def _texture(tile, u, v):
    """Bilinear sample of a periodic square tile whose side is a power of two."""
    mask = tile.shape[0] - 1
    fu, fv = math.floor(u), math.floor(v)
    i0, j0 = int(fu) & mask, int(fv) & mask
    i1, j1 = (i0 + 1) & mask, (j0 + 1) & mask
    a, b = u - fu, v - fv
    near = tile[j0, i0] * (1.0 - a) + tile[j0, i1] * a
    far = tile[j1, i0] * (1.0 - a) + tile[j1, i1] * a
    return near * (1.0 - b) + far * b


@cached(nogil=True)
def _step(value, footprint):
    """0 below, 1 above zero, smoothed over the footprint of a pixel."""
    return min(1.0, max(0.0, value / footprint + 0.5))


@cached(nogil=True)
def _paint(x, y, foot_x, foot_y, markings):
    """Share of the pixel's footprint that is covered by road markings; rows of y, width, dash, period."""
    cover = 0.0
    for k in range(markings.shape[0]):
        half = markings[k, 1] * 0.5
        off = y - markings[k, 0]
        across = _step(off + half, foot_y) - _step(off - half, foot_y)
        if across <= 0.0:
            continue
        dash, period = markings[k, 2], markings[k, 3]
        along = 1.0
        if dash < period:
            if foot_x > period:
                along = dash / period
            else:
                phase = x - math.floor(x / period) * period
                along = _step(phase, foot_x) - _step(phase - dash, foot_x) + _step(phase - period, foot_x)
        cover = max(cover, across * along)
    return cover


@cached(nogil=True)
def headlight(dx, dy, light):
    """Light of the headlamps at an offset from the lamps in metres; `light` as in `draw_backdrop`."""
    if light[4] == 0.0:
        return 0.0
    ahead = light[6] * dx + light[7] * dy
    aside = light[6] * dy - light[7] * dx
    if ahead <= 0.0:
        return 0.0
    spread = aside / (0.45 * ahead + 1.0)
    cone = max(0.0, 1.0 - spread * spread)
    far = ahead / light[5]
    return light[4] * cone / (1.0 + far * far)


@cached(nogil=True)
def draw_backdrop(image, rotation, position, focal, shadow, pieces, bands, markings, light, sky, tile):
    """Fill `image` uint8[h, w, 3] with ground and sky.

    `rotation`: float64[3, 3], rows are the camera's right, down and forward axes in the world; `position`: float64[3];
    `shadow`: uint8[h, w], 255 where no light of the sun falls; `pieces`: float64[k, 4] of the ground, from x, to x,
    height = a + b * x; `bands`: float64[n, 5] of y_max, b, g, r, grain; `markings`: float64[m, 4]; `light`: ground
    factor in light, share lost in shadow, haze distance, cloud cover, headlamps' strength, their reach, cosine and sine
    of their direction; `sky`: float64[2, 3], horizon and zenith colour; `tile`: float64[2**k, 2**k], noise in -1..1.
    """
    height, width = image.shape[0], image.shape[1]
    cx, cy = width * 0.5, height * 0.5
    below_camera = 0
    while position[0] >= pieces[below_camera, 1]:
        below_camera += 1
    for j in range(height):
        v = (j + 0.5 - cy) / focal
        for i in range(width):
            u = (i + 0.5 - cx) / focal
            dx = rotation[0, 0] * u + rotation[1, 0] * v + rotation[2, 0]
            dy = rotation[0, 1] * u + rotation[1, 1] * v + rotation[2, 1]
            dz = rotation[0, 2] * u + rotation[1, 2] * v + rotation[2, 2]
            # The first piece of ground that the ray meets: height over it, fall towards it, its rise.
            k, over, fall, rise, scale = below_camera, 0.0, 0.0, 0.0, -1.0
            while True:
                rise = pieces[k, 3]
                over = position[2] - (pieces[k, 2] + rise * position[0])
                fall = dz - rise * dx
                end = np.inf
                if dx > 0.0:
                    end = (pieces[k, 1] - position[0]) / dx
                elif dx < 0.0:
                    end = (pieces[k, 0] - position[0]) / dx
                if fall < -1e-4 and over / -fall <= end:
                    scale = over / -fall
                    break
                k += 1 if dx > 0.0 else -1
                if end == np.inf or k < 0 or k == pieces.shape[0]:
                    break
            if scale > 0.0:
                x = position[0] + scale * dx
                y = position[1] + scale * dy
                right = over / max(1e-5, -(fall + (rotation[0, 2] - rise * rotation[0, 0]) / focal))
                below = over / max(1e-5, -(fall + (rotation[1, 2] - rise * rotation[1, 0]) / focal))
                foot_x = (
                    abs(position[0] + right * (dx + rotation[0, 0] / focal) - x)
                    + abs(position[0] + below * (dx + rotation[1, 0] / focal) - x)
                    + 1e-4
                )
                foot_y = (
                    abs(position[1] + right * (dy + rotation[0, 1] / focal) - y)
                    + abs(position[1] + below * (dy + rotation[1, 1] / focal) - y)
                    + 1e-4
                )
                fine_fade = 0.05 / (0.05 + max(foot_x, foot_y))
                coarse_fade = 0.8 / (0.8 + max(foot_x, foot_y))
                fine = _texture(tile, x * 26.0, y * 26.0) * fine_fade
                coarse = _texture(tile, x * 0.9 + 31.7, y * 2.3 + 11.3) * coarse_fade
                b, g, r, grain = bands[0, 1], bands[0, 2], bands[0, 3], bands[0, 4]
                for k in range(1, bands.shape[0]):
                    w = _step(y - bands[k - 1, 0], foot_y)
                    if w <= 0.0:
                        break
                    b += (bands[k, 1] - b) * w
                    g += (bands[k, 2] - g) * w
                    r += (bands[k, 3] - r) * w
                    grain += (bands[k, 4] - grain) * w
                tone = 1.0 + grain * (0.4 * fine + 0.3 * coarse)
                cover = _paint(x, y, foot_x, foot_y, markings) * (0.9 + 0.25 * fine)
                b = b * tone + (216.0 - b * tone) * cover
                g = g * tone + (222.0 - g * tone) * cover
                r = r * tone + (224.0 - r * tone) * cover
                lit = light[0] * (1.0 - light[1] * shadow[j, i] / 255.0)
                distance = scale * math.sqrt(dx * dx + dy * dy + dz * dz)
                lit += headlight(x - position[0], y - position[1], light)
                haze = distance / (distance + light[2])
                b = b * lit + (sky[0, 0] - b * lit) * haze
                g = g * lit + (sky[0, 1] - g * lit) * haze
                r = r * lit + (sky[0, 2] - r * lit) * haze
            else:
                up = max(0.0, dz) / math.sqrt(dx * dx + dy * dy + dz * dz)
                w = math.sqrt(min(1.0, up * 1.9))
                b = sky[0, 0] + (sky[1, 0] - sky[0, 0]) * w
                g = sky[0, 1] + (sky[1, 1] - sky[0, 1]) * w
                r = sky[0, 2] + (sky[1, 2] - sky[0, 2]) * w
                flat = max(dz, 0.02)
                # A flat sheet of clouds at unit height: noise in two octaves.
                cloud = 0.65 * _texture(tile, dx / flat * 2.2, dy / flat * 2.2)
                cloud += 0.35 * _texture(tile, dx / flat * 5.1 + 17.0, dy / flat * 5.1)
                cloud = min(1.0, max(0.0, cloud + light[3] - 0.45) * 1.8) * min(1.0, up * 7.0) * light[0] * 0.75
                top = max(sky[0, 0], max(sky[0, 1], sky[0, 2])) * 1.06
                b += (top - b) * cloud
                g += (top - g) * cloud
                r += (top - r) * cloud
            image[j, i, 0] = np.uint8(min(255.0, max(0.0, b)))
            image[j, i, 1] = np.uint8(min(255.0, max(0.0, g)))
            image[j, i, 2] = np.uint8(min(255.0, max(0.0, r)))


@cached(nogil=True)
def finish_frame(canvas, noise, row, column, frame):
    """Halve `canvas` uint8[2h, 2w, 3] into `frame` through a soft lens (1 3 3 1 both ways) and add sensor noise.

    `noise`: int8[2**k, 2**k], periodic, shifted by (row, column).
    """
    mask = noise.shape[0] - 1
    tall, wide = canvas.shape[0], canvas.shape[1]
    line = np.empty((wide + 2, 3), np.int64)
    for j in range(frame.shape[0]):
        above, below = max(2 * j - 1, 0), min(2 * j + 2, tall - 1)
        for i in range(wide):
            for c in range(3):
                middle = int(canvas[2 * j, i, c]) + int(canvas[2 * j + 1, i, c])
                line[i + 1, c] = int(canvas[above, i, c]) + 3 * middle + int(canvas[below, i, c])
        line[0], line[wide + 1] = line[1], line[wide]
        for i in range(frame.shape[1]):
            grain = int(noise[(j + row) & mask, (i + column) & mask])
            for c in range(3):
                total = line[2 * i, c] + 3 * (line[2 * i + 1, c] + line[2 * i + 2, c]) + line[2 * i + 3, c]
                frame[j, i, c] = np.uint8(min(255, max(0, ((total + 32) >> 6) + grain)))


def smooth_noise(side: int, seed: int, passes: int) -> npt.NDArray[np.float64]:
    """A periodic tile float64[side, side] of smoothed noise in -1..1; the same on every machine."""
    values = np.random.Generator(np.random.Philox(seed)).integers(-(2**20), 2**20, (side, side)).astype(np.float64)
    for _ in range(passes):
        values = values + np.roll(values, 1, 0) + np.roll(values, 1, 1) + np.roll(np.roll(values, 1, 0), 1, 1)
    peak = float(np.abs(values).max())
    return np.clip(values * (1.8 / peak), -1.0, 1.0)
