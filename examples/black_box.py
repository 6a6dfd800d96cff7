"""
Your own space, your own black box
==================================

Nothing in Fenceline's core knows about machine learning. Here it chooses how to compress a table of
sensor readings with Python's standard library: how to lay the bytes out, whether to store
differences, and which compressor with which settings. The size is to be small, *and* compressing
may take only so long.
"""

import bz2
import lzma
import statistics
import time
import zlib

import numpy as np

import fenceline as fl
from fenceline import plots

# %%
# The space
# ---------
# A space has modules; each is filled by one of its algorithms, and an algorithm has settings of its
# own. The first algorithm of every module is measured first, so something cheap and safe stands there.

space = fl.Space(
    [
        fl.Module("layout", [fl.Algorithm("rows"), fl.Algorithm("columns")]),
        fl.Module("coding", [fl.Algorithm("plain"), fl.Algorithm("differences")]),
        fl.Module(
            "compressor",
            [
                fl.Algorithm(
                    "zlib",
                    {
                        "level": fl.Integer(1, 9),
                        "strategy": fl.Categorical(["default", "filtered", "huffman"]),
                    },
                ),
                fl.Algorithm("bz2", {"level": fl.Integer(1, 9)}),
                fl.Algorithm("lzma", {"preset": fl.Integer(0, 6)}),
            ],
        ),
    ]
)
print(space.size, "ways to choose the algorithms, each with settings of its own")

# %%
# The black box
# -------------
# It takes a configuration and returns every metric, measured together. Times are noisy, so the
# compression is repeated and the time comes back as a pair: the value and its standard error. A
# pipeline then counts as inside the fence only if it is so with 95 % confidence.

rng = np.random.default_rng(0)
readings = np.cumsum(rng.integers(-3, 4, size=(6_000, 8)), axis=0).astype(np.int16)
STRATEGIES = {"default": zlib.Z_DEFAULT_STRATEGY, "filtered": zlib.Z_FILTERED, "huffman": 2}
REPEATS = 5


def compress(configuration):
    """Return the readings as compressed bytes."""
    table = readings.T if configuration["layout"].algorithm == "columns" else readings
    if configuration["coding"].algorithm == "differences":
        along = 1 if configuration["layout"].algorithm == "columns" else 0
        first = np.take(table, [0], axis=along)
        table = np.concatenate([first, np.diff(table, axis=along)], axis=along)
    raw, chosen = np.ascontiguousarray(table).tobytes(), configuration["compressor"]
    if chosen.algorithm == "zlib":
        level, strategy = chosen.params["level"], STRATEGIES[chosen.params["strategy"]]
        packer = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS, 8, strategy)
        return packer.compress(raw) + packer.flush()
    if chosen.algorithm == "bz2":
        return bz2.compress(raw, chosen.params["level"])
    return lzma.compress(raw, preset=chosen.params["preset"])


def measure(configuration):
    """Return the share of the size that is left, and the time it took."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        packed = compress(configuration)
        times.append(1e3 * (time.process_time() - start))
    error = statistics.stdev(times) / REPEATS**0.5
    return {"share": len(packed) / readings.nbytes, "milliseconds": (min(times), error)}


# %%
# The search
# ----------
# How fast this machine is decides which fence makes sense: twelve times what the plainest way takes.

plain = {"layout": ("rows", {}), "coding": ("plain", {})}
quick = {"compressor": ("zlib", {"level": 1, "strategy": "huffman"})}
fastest, _ = measure(space.configuration(plain | quick))["milliseconds"]
bound = round(12 * fastest, 1)

problem = fl.Problem(
    space, measure, objective="share", constraints=[fl.metric("milliseconds") <= bound]
)
result = fl.minimize(problem, evaluations=40, seed=0)
print(result.message)
print(f"{result.best.metrics['milliseconds']:.1f} of {bound} milliseconds")
print(f"{result.feasible_fraction:.0%} of {len(result.evaluations)} evaluations were feasible")

# %%
# Every point is one way to compress. The dashed line is the fence, and the front shows what a
# tighter or looser one would cost or buy.

ax = plots.trade_off(result, "milliseconds")
ax.set(xscale="log", title="Size against time")

# %%
# What loosening the bound would admit, in words and numbers:

print(result.relaxations(most=3).to_string(index=False))
