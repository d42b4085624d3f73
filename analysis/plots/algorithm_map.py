"""Which algorithm is the fastest, over message size and number of ranks, and by how much."""

import matplotlib.colors
import quantities
import reading
import runs as several
import style
from bad_input import BadInput
from crossovers import crossovers
from heat_map import label_places
from matplotlib.patches import Rectangle
from sheet import Entry, Sheet, shortened, text_width

HATCHES = ("", "////", "....", "\\\\\\\\", "----", "||||")
# How far ahead of the second, and how strong the colour is then.
LEVELS = ((1.05, 0.25), (1.5, 0.5), (3.0, 0.75), (float("inf"), 1.0))
EQUAL = 1.005
LEVEL = {"facecolor": "#e4e4e4", "linewidth": 0}


def draw(documents, _options):
    """A Sheet. BadInput."""
    runs = [run for document in documents for run in reading.runs_of(document)]
    times = times_of(runs)
    algorithms = list(dict.fromkeys(name for name, _, _ in times))
    if len(algorithms) < 2:
        raise BadInput(documents[0].file, "is of one algorithm alone"
                       + (f", {algorithms[0]}" if algorithms else "")
                       + "; a map takes two or more, from several result files or a sweep of "
                         "communication.algorithm")
    if len(algorithms) > len(style.SERIES):
        raise BadInput(documents[0].file, f"would show {len(algorithms)} algorithms; at most "
                       f"{len(style.SERIES)} can be told apart")
    ranks = sorted({count for _, count, _ in times})
    sizes = sorted({size for _, _, size in times})
    cell = min(0.45, max(0.2, 4.0 / len(ranks)))
    room = cell >= 0.28 and 6.2 / len(sizes) >= text_width("10.5", style.SMALL) + 0.06
    legend = [Entry(shortened(name), _look(index, 1.0), box=True)
              for index, name in enumerate(algorithms)]
    legend.append(Entry("equal", LEVEL, box=True))
    sheet = Sheet(_title(algorithms), about=several.common_about(runs), legend=legend,
                  height=max(1.6, len(ranks) * cell + 0.8), notes=[_small_print(runs, room)])
    panel = sheet.figure.subplots()
    _draw_cells(panel, times, algorithms, (ranks, sizes), room)
    _draw_crossovers(panel, times, algorithms, (ranks, sizes), room)
    panel.set_xlim(-0.5, len(sizes) - 0.5)
    panel.set_ylim(-0.5, len(ranks) - 0.5)
    label_places(panel.xaxis, [quantities.size_text(size) for size in sizes], 6.4)
    label_places(panel.yaxis, [str(count) for count in ranks], None)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.set_xlabel("message size (bytes)")
    panel.set_ylabel("ranks (number)")
    return sheet


def _title(algorithms):
    if len(algorithms) == 2:
        return (f"Is {shortened(algorithms[0])} or {shortened(algorithms[1])} faster, at which "
                "size, on how many ranks?")
    return "Which algorithm is the fastest, at which size, on how many ranks?"


def times_of(runs):
    """{(algorithm, ranks, size): time in us}; of several of one kind the fastest."""
    times = {}
    for run in runs:
        for size, row in several.out_of_place(run).items():
            name, count = row.get("algorithm"), reading.number(row.get("ranks"))
            if isinstance(name, str) and count and size > 0:
                key = (name, count, size)
                times[key] = min(times.get(key, float("inf")), row["time_us"])
    return times


def _look(index, strength):
    colour = matplotlib.colors.to_rgb(style.SERIES[index])
    mixed = tuple(1 - strength + strength * part for part in colour)
    return {"facecolor": mixed, "edgecolor": style.ON_DARK, "hatch": HATCHES[index],
            "linewidth": 0}


def _small_print(runs, room):
    words = ["Numbers: how many times as fast as the second." if room else "",
             "Palest: less than 5 % ahead of the second; then up to 1.5 times, 3 times, more. "
             "White dots: where the fastest changes between two sizes."]
    seen = [(str(row.get("algorithm")), str(row.get("ranks")), size) for run in runs
            for size, row in several.out_of_place(run).items()]
    if len(seen) > len(set(seen)):
        words.append("Of several runs of one algorithm, the fastest counts.")
    return " ".join(filter(None, words))


def _draw_cells(panel, times, algorithms, places, room):
    ranks, sizes = places
    for y, count in enumerate(ranks):
        for x, size in enumerate(sizes):
            mine = sorted((times[(name, count, size)], index)
                          for index, name in enumerate(algorithms) if (name, count, size) in times)
            if len(mine) < 2:
                panel.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=style.PAPER,
                                          edgecolor=style.FAINT, linewidth=0.5))
                continue
            ahead = mine[1][0] / mine[0][0]
            strength = next(strength for most, strength in LEVELS if ahead < most)
            look = LEVEL if ahead < EQUAL else _look(mine[0][1], strength)
            panel.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, gid="cell", **look))
            if room:
                panel.text(x, y + 0.08, f"{ahead:.2f}" if ahead < 9.995 else f"{ahead:.1f}",
                           ha="center", va="center", fontsize=style.SMALL,
                           color=style.ink_on(matplotlib.colors.to_rgb(look["facecolor"])),
                           bbox={"facecolor": look["facecolor"], "linewidth": 0, "pad": 0.8})


def _draw_crossovers(panel, times, algorithms, places, room):
    ranks, sizes = places
    for y, count in enumerate(ranks):
        series = [{size: times[(name, count, size)] for size in sizes
                   if (name, count, size) in times} for name in algorithms]
        series = [mine for mine in series if mine]
        for size, _, _ in crossovers(series):
            below = max(x for x, known in enumerate(sizes) if known <= size)
            if below + 1 == len(sizes):
                continue
            share = (quantities.log_share(sizes[below], size, sizes[below + 1]))
            panel.plot([below + share], [y - 0.32 if room else y], marker="o", markersize=5,
                       markerfacecolor=style.ON_DARK, markeredgecolor=style.ON_LIGHT, zorder=5,
                       gid="crossover")
