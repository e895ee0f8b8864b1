# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"
"""Kernel of the LiDAR: rays against the ground and convex solids, each ray at its own instant.

Only additions, products, quotients of float64 are used. Arrays in, arrays filled in place; nothing is raised.
"""

from __future__ import annotations

import numpy as np

from rt_sched.kernels.compiling.kernel import cached


@cached(nogil=True)
def cast_rays(directions, origins, pieces, solid_start, planes, placement, reach, ranges, hits, cosines):
    """First surface along every ray.

    `directions`: float64[columns, rings, 3] unit vectors in the world; `origins`: float64[columns, 3]; `pieces`:
    float64[k, 4] of the ground, from x, to x, height = a + b * x; `solid_start`: int64[solids + 1], rows of `planes`
    float64[p, 4] (nx, ny, nz, offset) in the solid's own frame; `placement`: float64[columns, solids, 4] of x, y, cos
    yaw, sin yaw; `reach`: float64[solids], radius around the placement that holds the solid.
    Out: `ranges` float64[columns, rings] (inf: nothing), `hits` int64 (solid, -1 ground, -2 nothing), `cosines` of
    incidence. Solids stand on the ground.
    """
    columns, rings = directions.shape[0], directions.shape[1]
    solids = solid_start.shape[0] - 1
    near = np.empty(solids, np.int64)
    for c in range(columns):
        ox, oy, oz = origins[c, 0], origins[c, 1], origins[c, 2]
        # All rays of a column lie in one upright half-plane: keep the solids that it can meet.
        ux, uy = directions[c, 0, 0], directions[c, 0, 1]
        kept = 0
        for s in range(solids):
            rx, ry = placement[c, s, 0] - ox, placement[c, s, 1] - oy
            across = rx * uy - ry * ux
            along = rx * ux + ry * uy
            flat = ux * ux + uy * uy
            if across * across <= reach[s] * reach[s] * flat and along >= -reach[s]:
                near[kept] = s
                kept += 1
        below = 0
        while ox >= pieces[below, 1]:
            below += 1
        for k in range(rings):
            dx, dy, dz = directions[c, k, 0], directions[c, k, 1], directions[c, k, 2]
            best, hit, cosine = np.inf, -2, 0.0
            # Over each piece of ground the ray is straight on level ground, from `begin` to `end`.
            piece, begin = below, 0.0
            while True:
                rise = pieces[piece, 3]
                height = oz - (pieces[piece, 2] + rise * ox)
                fall = dz - rise * dx
                end = np.inf
                if dx > 0.0:
                    end = (pieces[piece, 1] - ox) / dx
                elif dx < 0.0:
                    end = (pieces[piece, 0] - ox) / dx
                best = end
                if fall < -1e-6 and height / -fall <= end:
                    best, hit, cosine = height / -fall, -1, -fall
                for n in range(kept):
                    s = near[n]
                    cs, sn = placement[c, s, 2], placement[c, s, 3]
                    rx, ry = ox - placement[c, s, 0], oy - placement[c, s, 1]
                    lx, ly = cs * rx + sn * ry, cs * ry - sn * rx
                    ex, ey = cs * dx + sn * dy, cs * dy - sn * dx
                    enter, leave, entering = begin, best, -1.0
                    for p in range(solid_start[s], solid_start[s + 1]):
                        nx, ny, nz = planes[p, 0], planes[p, 1], planes[p, 2]
                        gap = planes[p, 3] - (nx * lx + ny * ly + nz * height)
                        slope = nx * ex + ny * ey + nz * fall
                        if slope < -1e-12:
                            at = gap / slope
                            if at > enter:
                                enter, entering = at, -slope
                        elif slope > 1e-12:
                            leave = min(leave, gap / slope)
                        elif gap < 0.0:
                            leave = -1.0
                        if enter > leave:
                            break
                    if entering > 0.0 and enter <= leave and enter < best:
                        best, hit, cosine = enter, s, entering
                if hit != -2:
                    break
                best = np.inf
                begin = end
                piece += 1 if dx > 0.0 else -1
                if end == np.inf or piece < 0 or piece == pieces.shape[0]:
                    break
            ranges[c, k] = best
            hits[c, k] = hit
            cosines[c, k] = cosine
