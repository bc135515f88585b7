"""Games won against the panel over the hours of a training run, as a picture and a table.

    python benchmarks/curves.py runs/ppo --svg docs/strength.svg
    python benchmarks/curves.py runs/ppo +0.2 runs/v_both

Reads the run's TensorBoard log; of several, one after another, with hours between them that were
spent elsewhere. Hours are those in which the run was going on, evaluations
included: pauses between one event and the next that are longer than ``--pause`` count as none.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agents.strength import PANEL  # noqa: E402

COLOURS = ("#0b62a4", "#2e8b57", "#c0392b", "#8e44ad")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 60, 540, 20, 280
"""Of the picture, and of the frame in it, in pixels."""
LOW, HIGH = 0.3, 0.9
"""Shares of games at the frame's bottom and top."""

Curve = NDArray[np.floating]
"""Hours, decisions, share won, its 95 % interval's low and high, [n, 5]."""


def read(folder: Path, pause: float) -> dict[str, Curve]:
    """The curves by opponent. Raises ValueError without any."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    log.Reload()
    tags = set(log.Tags()["scalars"])
    if not {"speed/decisions_per_second", f"strength/wins_v_{PANEL[0]}"} <= tags:
        raise ValueError(f"{folder}: no training run with evaluations")
    steps = log.Scalars("speed/decisions_per_second")
    times = np.sort([event.wall_time for event in steps])
    # The first iteration began about as long before its event as the second took.
    spans = np.diff(times, prepend=2 * times[0] - times[1])
    hours = np.cumsum(np.where(spans > pause, 0, spans)) / 3600
    curves = {}
    for opponent in PANEL:
        columns = [log.Scalars(f"strength/wins_v_{opponent}{end}") for end in ("", "_low", "_high")]
        at = np.interp([event.wall_time for event in columns[0]], times, hours)
        values = [[event.value for event in column] for column in columns]
        curves[opponent] = np.array([at, [event.step for event in columns[0]], *values]).T
    return curves


def read_all(parts: list[str], pause: float) -> dict[str, Curve]:
    """The curves of runs in a row: hours and decisions go on from one to the next.

    ``parts``: folders, and numbers with a plus: hours between. Raises ValueError.
    """
    found: list[dict[str, Curve]] = []
    ahead = np.zeros(5)
    for part in parts:
        if part.startswith("+"):
            ahead[0] += float(part)
            continue
        curves = read(Path(part), pause)
        found.append({name: curve + ahead for name, curve in curves.items()})
        ahead[:2] = found[-1][PANEL[0]][-1, :2]
    if not found:
        raise ValueError("there is no run among the arguments")
    return {name: np.concatenate([each[name] for each in found]) for name in PANEL}


def table(curves: dict[str, Curve]) -> str:
    """A row for each evaluation, as Markdown."""
    lines = [
        "| hours | decisions | " + " | ".join(f"v `{opponent}`" for opponent in curves) + " |",
        "| ---: | ---: |" + " ---: |" * len(curves),
    ]
    for rows in zip(*curves.values(), strict=True):
        hours, decisions = rows[0][:2]
        cells = [f"{100 * won:.0f} % ±{50 * (high - low):.0f}" for _, _, won, low, high in rows]
        lines.append(f"| {hours:.2f} | {decisions / 1e6:.1f} M | {' | '.join(cells)} |")
    return "\n".join(lines)


def svg(curves: dict[str, Curve]) -> str:
    """Share of games won against hours, a line and a band for each opponent."""
    last = max(float(curve[-1, 0]) for curve in curves.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="{HEIGHT - 6}">hours; games won, 95 % intervals</text>',
    ]
    for tenth in range(round(10 * LOW), round(10 * HIGH) + 1):
        y, colour = _y(tenth / 10), "#888" if tenth == 5 else "#ddd"
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{colour}"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10 * tenth} %</text>'
        )
    for part in (0, 0.25, 0.5, 0.75, 1):
        at = f'x="{_x(part):.1f}" y="{BOTTOM + 16}"'
        parts.append(f'<text {at} text-anchor="middle">{last * part:.2f}</text>')
    for number, ((opponent, curve), colour) in enumerate(zip(curves.items(), COLOURS, strict=True)):
        x = [_x(hours / last) for hours in curve[:, 0]]
        there = [f"{at:.1f},{_y(high):.1f}" for at, high in zip(x, curve[:, 4], strict=True)]
        back = [f"{at:.1f},{_y(low):.1f}" for at, low in zip(x, curve[:, 3], strict=True)]
        line = [f"{at:.1f},{_y(won):.1f}" for at, won in zip(x, curve[:, 2], strict=True)]
        band = " ".join([*there, *reversed(back)])
        parts.append(f'<polygon points="{band}" fill="{colour}" opacity="0.12"/>')
        parts.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{colour}"/>')
        place = f'x="{RIGHT + 8}" y="{40 + 18 * number}"'
        parts.append(f'<text {place} fill="{colour}">v {opponent}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _x(part: float) -> float:
    return LEFT + (RIGHT - LEFT) * part


def _y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (min(max(share, LOW), HIGH) - LOW) / (HIGH - LOW)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", help="folders of runs, +HOURS between them")
    parser.add_argument("--svg", type=Path, help="draw the picture here")
    parser.add_argument("--pause", type=float, default=300, help="seconds (default 300)")
    options = parser.parse_args()
    try:
        curves = read_all(options.runs, options.pause)
    except ValueError as error:
        parser.error(str(error))
    if options.svg:
        options.svg.write_text(svg(curves))
    print(table(curves))


if __name__ == "__main__":
    main()
