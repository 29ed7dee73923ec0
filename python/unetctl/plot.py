# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a report in matplotlib: the numbers, intervals and colours of report/figures."""
from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Callable
from xml.etree import ElementTree

from .study import StudyError, need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .study import Study

MARKS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
WIDTHS = {"wide": 4.5, "thin": 1.2, "guide": 1}
TITLE = "{http://www.w3.org/2000/svg}title"
# Figures whose y axis need not begin at 0, and those whose x axis is not a count.
OPEN, CURVES = ("iou", "quality", "loss"), ("loss", "quality", "cost")


def _figure(*names: str) -> Callable[[Plots, Axes | None], Axes]:
    def draw(self: Plots, ax: Axes | None = None) -> Axes:
        return self.draw(next((n for n in names if n in self.names), names[0]), ax)
    return draw


def _number(text: str) -> float:
    return float(text) if text else float("nan")


class Plots:
    """Each method draws a figure into ax, or into new axes, and returns them.

    draw() takes any of `names`: with several series loss_2 is the loss of the second one.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.names = sorted(p.stem for p in (study.folder / "figures").glob("*.csv"))

    speedup = _figure("speedup")
    efficiency = _figure("efficiency")
    time = _figure("epoch_time")
    quality = _figure("iou", "quality_by_gpus")
    cost = _figure("cost")
    one_epoch = _figure("one_epoch")
    loss = _figure("loss")
    quality_by_epoch = _figure("quality")
    epoch_parts = _figure("parts")
    run_parts = _figure("whole")

    def draw(self, name: str, ax: Axes | None = None) -> Axes:
        """Draws report/figures/NAME.csv."""
        rows = self._study.read_rows(f"figures/{name}.csv")
        if not rows or "style" not in rows[0]:
            raise StudyError(f"{self._study.folder}/figures/{name}.csv: it does not say how it is "
                             f"drawn, as it is of an earlier version: {self._study.again}")
        ax = ax or need("matplotlib.pyplot").subplots()[1]
        x = list(rows[0])[1]
        right: Axes | None = None
        heights: dict[float, float] = {}
        for _, points in groupby(rows, key=lambda row: row["line"]):
            line = list(points)
            if "right" in line[0]["style"].split():
                right = right or ax.twinx()
                right.set_ylabel(line[0]["axis"])
                right.set_ylim(0, 1)
            else:
                ax.set_ylabel(line[0]["axis"])
            _add_line(right if "right" in line[0]["style"].split() else ax, x, line, heights)
        ax.set_xlabel(x)
        ax.set_title(ElementTree.parse(self._study.folder / f"figures/{name}.svg").findtext(TITLE))
        ax.legend(handles=[h for a in (ax, right) if a for h in a.get_legend_handles_labels()[0]],
                  fontsize="small")
        if name.partition("_")[0] not in OPEN:
            ax.set_ylim(bottom=min(0, ax.get_ylim()[0]))
        if name == "cost":
            ax.set_xscale("log")
        elif name.partition("_")[0] not in CURVES or name == "quality_by_gpus":
            ax.set_xlim(left=0)
            ax.xaxis.get_major_locator().set_params(integer=True)
        return ax


def _add_line(ax: Axes, x: str, rows: list[dict[str, str]], heights: dict[float, float]) -> None:
    """Draws one series; heights are those of the columns that its own stand on."""
    style, colour = rows[0]["style"].split(), rows[0]["colour"]
    xs = [_number(row[x]) for row in rows]
    ys, lows, highs = ([_number(row[k]) for row in rows] for k in ("value", "low", "high"))
    label = "_" if "unlisted" in style else rows[0]["series"]
    if style[0] == "column":
        ax.bar(xs, ys, bottom=[heights.get(v, 0) for v in xs], color=colour, label=label)
        heights.update((v, heights.get(v, 0) + y) for v, y in zip(xs, ys))
        return
    if style[0] == "band":
        ax.fill_between(xs, lows, highs, color=colour, alpha=0.15, label=label)
        return
    look: dict[str, Any] = {
        "linestyle": "none" if style[0] == "marks" else "--" if "dashed" in style else "-",
        "linewidth": next((w for word, w in WIDTHS.items() if word in style), 2),
        "alpha": 0.45 if "wide" in style else None}
    if style[0] != "line":
        look.update(marker=MARKS[style[1]], markersize=4 if "small" in style else 6,
                    markerfacecolor="white" if "hollow" in style else colour)
    ax.vlines(xs, lows, highs, color=colour, linewidth=1.3)
    ax.plot(xs, ys, color=colour, label=label, **look)
    for row, *at in zip(rows, xs, ys):
        if row["tag"]:
            ax.annotate(row["tag"], at, xytext=(5, 4), textcoords="offset points")
