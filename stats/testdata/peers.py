"""Pair bootstrap of a quantile's relative effect with scipy.stats.bootstrap, for comparison.

Usage: peers.py ROWS PAIRS MODELS QUANTILE REPLICATES

ROWS holds little-endian int64 quadruples: model, pair, arm, value. Prints the estimate, the 95 % percentile interval and the
standard error of the mean log ratio over models, and the seconds that the bootstrap took, on the clock and of the processor,
as JSON.
"""

import json
import sys
import time

import numpy as np
from scipy import stats

path, pairs, models, quantile, replicates = sys.argv[1], *map(float, sys.argv[2:6])
pairs, models, replicates = int(pairs), int(models), int(replicates)
rows = np.fromfile(path, dtype="<i8").reshape(-1, 4)
cells = {}
for m in range(models):
    of_model = rows[rows[:, 0] == m]
    for arm in range(2):
        of_arm = of_model[of_model[:, 2] == arm]
        cells[m, arm] = [of_arm[of_arm[:, 1] == p, 3] for p in range(pairs)]


def effect(index):
    """Mean over models of the log ratio of type 1 quantiles of the rows of the resampled pairs."""
    logs = 0.0
    for m in range(models):
        for arm, sign in ((0, -1), (1, 1)):
            values = np.concatenate([cells[m, arm][p] for p in index])
            logs += sign * np.log(np.quantile(values, quantile, method="inverted_cdf"))
    return logs / models


started, worked = time.perf_counter(), time.process_time()
result = stats.bootstrap((np.arange(pairs),), effect, n_resamples=replicates, vectorized=False, method="percentile", rng=1)
print(json.dumps({
    "estimate": effect(range(pairs)),
    "lo": result.confidence_interval.low,
    "hi": result.confidence_interval.high,
    "se": result.standard_error,
    "seconds": time.perf_counter() - started,
    "cpu": time.process_time() - worked,
}))
