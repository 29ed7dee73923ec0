#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The intervals and tests of a report agree with scipy's, computed from the runs in its results.csv.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/study-fixture.sh"
need_python scipy

# Runs on 1 and 2 GPUs have the same seeds, those on 4 others; 10 make a median's interval narrower
# than its range.
make_study s demo 1,2,4 13
for seed in 1 2 3 4 5 6 7 8 9 10; do
    noise=$((seed * 37 % 101))
    add_run s 1 $seed "$(awk "BEGIN { print 8 + $noise / 200 }")" "0.90$((noise + 100))"
    add_run s 2 $seed "$(awk "BEGIN { print 4.1 + $((noise * 7 % 101)) / 300 }")" "0.90$((noise * 3 % 101 + 110))"
    add_run s 4 $((seed + 3)) "$(awk "BEGIN { print 2.3 + $((noise * 5 % 101)) / 400 }")" "0.90$((noise * 11 % 101 + 90))"
done
exits 0 "a report" unetctl report -C s
ok "tests of quality, intervals of medians and limits of collapse agree with scipy" python3 - \
    s/report/report.json s/report/results.csv <<'EOF_PYTHON'
import csv, json, sys
from scipy import stats
(engine,) = json.load(open(sys.argv[1]))["engines"]
runs = {}
for r in csv.DictReader(open(sys.argv[2])):
    if r["iou"]:
        runs.setdefault(int(r["gpus"]), []).append((int(r["seed"]), float(r["iou"]), float(r["median_epoch_s"])))
iou = {n: [x[1] for x in sorted(v)] for n, v in runs.items()}
def near(a, b, what, tolerance=1e-5):
    assert abs(a - b) < tolerance, (what, a, b)
changes = engine["verdict"]["iou"]
for i, (n, test) in enumerate([(2, stats.ttest_rel(iou[2], iou[1])), (4, stats.ttest_ind(iou[4], iou[1], equal_var=False))], 1):
    c, between = changes[i], test.confidence_interval(0.975)  # two counts, simultaneously
    near(c["p"], min(1, 2 * test.pvalue), n, 1e-3)
    near(c["interval"]["low"], between.low, n)
    near(c["interval"]["high"], between.high, n)
    most = stats.binomtest(0, 10).proportion_ci(0.9, "exact").high  # one-sided: 95 %
    near(c["collapsed_at_most"], most, n, 1e-9)
for p in engine["points"]:
    times = sorted(x[2] for x in runs[p["gpus"]])
    k = int(stats.binom.ppf(0.025, len(times), 0.5))  # from the k-th smallest to the k-th largest
    near(p["median_epoch_s"]["interval"]["low"], times[k - 1], p["gpus"], 1e-9)
    near(p["median_epoch_s"]["interval"]["high"], times[-k], p["gpus"], 1e-9)
EOF_PYTHON
done_testing
