"""Where the fastest of several runs changes with the size of the message."""

import math


def crossovers(series):
    """[(size, index before, index after)]: where the fastest of several series changes.

    `series`: {size: time} each. Between two sizes that all have, the logarithm of the ratio of two
    times is taken to be a straight line over the logarithm of the size; the crossover is where it
    is 0. Who merely draws level does not take over.
    """
    sizes = sorted(set.intersection(*(set(times) for times in series))) if series else []
    sizes = [size for size in sizes if size > 0]
    found, fastest, before = [], None, None
    for size in sizes:
        best = min(range(len(series)), key=lambda i: series[i][size])
        if fastest is not None and series[fastest][size] <= series[best][size]:
            best = fastest
        if fastest is not None and best != fastest:
            there = math.log(series[best][before] / series[fastest][before])
            here = math.log(series[best][size] / series[fastest][size])
            share = there / (there - here)
            crossing = math.exp(math.log(before) + share * math.log(size / before))
            found.append((crossing, fastest, best))
        fastest, before = best, size
    return found
