"""Draws what growth.py measured: a column an axis, CPU time above, peak memory below."""

from pathlib import Path

import growth

# Okabe and Ito's blue and vermilion, told apart by all; marks and dashes tell them apart in grey.
STYLES = {True: {"color": "#0072B2", "marker": "o", "linestyle": "-",
                 "label": "what must be as another was, skipped (default)"},
          False: {"color": "#D55E00", "marker": "s", "linestyle": "--",
                  "markersize": 9, "markerfacecolor": "none",
                  "label": "every packet simulated (--no-skip)"}}


def draw(points, axes, folder, footnote):
    """Writes growth.png and growth.svg. ImportError where there is no matplotlib."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    figure, panels = pyplot.subplots(2, len(axes), figsize=(3.4 * len(axes), 6.8), sharey="row",
                                     sharex="col")
    for column, axis in enumerate(axes):
        for skip, style in STYLES.items():
            mine = [point for point in points if point.axis == axis.name and point.skip == skip]
            values = [point.value for point in mine]
            panels[0][column].plot(values, [point.cpu_s for point in mine], **style)
            panels[1][column].plot(values, [point.peak_rss_bytes / 1e6 for point in mine], **style)
        panels[0][column].set_title(axis.fixed, fontsize=10)
        panels[1][column].set_xlabel(axis.name)
        dress(panels[0][column], panels[1][column], axis.values)
    panels[1][0].set_ylim(bottom=0)  # of all: the row shares its axis
    panels[0][0].set_ylabel("CPU time of the simulation (s)")
    panels[1][0].set_ylabel("peak memory (MB)")
    figure.suptitle(growth.QUESTION, fontsize=14)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 0.03), ncol=2,
                  frameon=False)
    figure.text(0.5, 0.015, footnote, ha="center", fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    paths = [Path(folder) / f"growth.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return paths


def dress(above, below, values):
    for panel in (above, below):
        panel.set_xscale("log", base=2)
        panel.set_xticks(values, [str(value) for value in values])
        panel.minorticks_off()
        panel.grid(True, color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    above.set_yscale("log")
    above.yaxis.set_major_formatter("{x:g}")
