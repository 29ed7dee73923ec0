# SPDX-License-Identifier: BSD-3-Clause
"""The figures have the numbers, intervals, colours and titles of the report's."""
import csv
import html
import re

import pytest
import unetctl
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def read_figure(study, name):
    with open(study / f"report/figures/{name}.csv", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], [dict(zip(["series", "x"] + rows[0][2:], r)) for r in rows[1:]]


def drawn_points(ax):
    """Returns (x, y, colour) of everything that is drawn in the figure of ax."""
    points = set()
    for axes in ax.figure.axes:
        for line in axes.lines:
            points |= {(x, y, to_hex(line.get_color())) for x, y in zip(*line.get_data())}
        points |= {(p.get_x() + p.get_width() / 2, p.get_height(), to_hex(p.get_facecolor()))
                   for p in axes.patches}
    return [(pytest.approx(x, rel=1e-6), pytest.approx(y, rel=1e-6), colour)
            for x, y, colour in points]


def drawn_bars(ax):
    """Returns the ends of all intervals: those of bars, and the outline of bands."""
    bars = set()
    for c in (c for axes in ax.figure.axes for c in axes.collections):
        if isinstance(c, LineCollection):
            bars |= {tuple(map(tuple, bar)) for bar in c.get_segments()}
        else:
            outline = [tuple(v) for path in c.get_paths() for v in path.vertices]
            bars |= {(a, b) for a in outline for b in outline if a[0] == b[0]}
    return bars


def test_every_figure(study):
    plot = unetctl.load(study).plot
    assert {"speedup", "efficiency", "epoch_time", "loss", "whole"} <= set(plot.names)
    for name in plot.names:
        header, rows = read_figure(study, name)
        ax = plot.draw(name)
        points, bars = drawn_points(ax), drawn_bars(ax)
        for row in rows:
            if row["value"]:
                assert (float(row["x"]), float(row["value"]), row["colour"]) in points
            if row["low"]:
                ends = ((float(row["x"]), float(row["low"])), (float(row["x"]), float(row["high"])))
                assert ends in bars
        assert ax.get_xlabel() == header[1]
        svg = (study / f"report/figures/{name}.svg").read_text()
        assert ax.get_title() == html.unescape(re.search("<title>(.*)</title>", svg).group(1))
        listed = {t.get_text() for t in ax.get_legend().get_texts()}
        assert listed == {r["series"] for r in rows if "unlisted" not in r["style"].split()}


def test_methods(study):
    plot = unetctl.load(study).plot
    _, ax = pyplot.subplots()
    assert plot.speedup(ax) is ax and ax.get_ylabel() == "speed-up"
    assert plot.efficiency().get_title() == "Parallel efficiency"
    assert plot.loss().get_xlabel() == "epoch"
    assert plot.time().get_ylabel() == "seconds"
    assert plot.quality().get_title().startswith("Quality: ")
    assert plot.run_parts().get_title().startswith("Where a whole run's time goes")
    assert plot.cost().texts


def test_a_figure_that_is_missing_or_of_an_earlier_version(golden, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "report.json").write_text((golden / "report/report.json").read_text())
    plot = unetctl.load(tmp_path).plot
    with pytest.raises(unetctl.StudyError, match="loss.csv: the report has no such file"):
        plot.loss()
    (tmp_path / "figures/loss.csv").write_text("series,epoch,axis,value,low,high\na,0,loss,1,,\n")
    with pytest.raises(unetctl.StudyError, match="does not say how it is drawn.*by 'unetctl report'"):
        plot.loss()
