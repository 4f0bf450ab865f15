"""How far a link carries on what the query shows: by the details that were seen, wherever else pictures agree.

Two pictures may agree on what surrounds a thing, or on what covers it in both. So it is not enough that the query's
frame comes to lie among the details that a link's pictures share: these must lie where the query itself was seen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..store import GRID
from ..types import Bytes, Float32, Float64
from .graph import Links, composed, inverse

Seen = npt.NDArray[np.bool_]  # (GRID, GRID) by row and column, over the query's frame


def seen_at(xy: Float32 | Float64, frame: Float64) -> Seen:
    """Where in the query's frame details were seen, by where they lie. The fewer they are, the coarser it is known."""
    side = min(max(int(np.sqrt(len(xy) / 2)), 1), GRID)  # so that few cells among details are empty by chance
    column, row = ((xy - frame[:2]) / np.maximum(frame[2:] - frame[:2], 1) * side).astype(np.int64).clip(0, side - 1).T
    seen = np.zeros((side, side), np.bool_)
    seen[row, column] = True
    fine = np.arange(GRID) * side // GRID
    return seen[np.ix_(fine, fine)]


def carried(links: Links, transform: Float64, frame: Float64, seen: Seen) -> Float64:
    """(n,) the share of each link's details that lie where the query was seen; transform: query → the picture."""
    shares = np.zeros(len(links.other))
    _share_seen(_to_query(links.grid, transform), links.cells, frame, seen, shares)
    return shares


def still_seen(links: Links, row: int, transform: Float64, frame: Float64, seen: Seen) -> Seen:
    """Where the query was seen, and the link's details lie: what it carries on."""
    bits = np.flatnonzero(np.unpackbits(links.cells[row], bitorder="little"))
    grid = _to_query(links.grid[row], transform)
    xy = np.stack([bits % GRID + 0.5, bits // GRID + 0.5], axis=1) @ grid[:, :2].T + grid[:, 2]
    within = ((xy >= frame[:2]) & (xy <= frame[2:])).all(axis=1)
    return seen & seen_at(xy[within], frame)


def _to_query(grid: Float64, transform: Float64) -> Float64:
    """(…, 2, 3) from the grid of a link to the query."""
    return composed(grid, inverse(transform[None])[0])


@kernel
def _share_seen(grids: Float64, cells: Bytes, frame: Float64, seen: Seen, shares: Float64) -> None:
    """A cell that sticks out of the query's frame by a quarter does not count: what it holds may lie outside."""
    left, top, right, bottom = frame[0], frame[1], frame[2], frame[3]
    wide, high = GRID / max(right - left, 1.0), GRID / max(bottom - top, 1.0)
    for n in range(len(grids)):
        grid, all_of_them, within = grids[n], 0, 0
        dx, dy = (abs(grid[0, 0]) + abs(grid[0, 1])) / 4, (abs(grid[1, 0]) + abs(grid[1, 1])) / 4
        for cell in range(GRID * GRID):
            if not (cells[n, cell >> 3] >> (cell & 7)) & 1:
                continue
            all_of_them += 1
            column, row = cell % GRID + 0.5, cell // GRID + 0.5
            x = grid[0, 0] * column + grid[0, 1] * row + grid[0, 2]
            y = grid[1, 0] * column + grid[1, 1] * row + grid[1, 2]
            if left <= x - dx and x + dx <= right and top <= y - dy and y + dy <= bottom:
                within += seen[min(int((y - top) * high), GRID - 1), min(int((x - left) * wide), GRID - 1)]
        shares[n] = within / max(all_of_them, 1)
