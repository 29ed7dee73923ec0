#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report on the reference systems' 32 logs: every printed figure of theirs comes out. Per count:
# GPUs, first epoch, median epoch, total, test, IoU, final loss, speed-up by epoch 1, by total.
. "${srcdir:-.}/t/lib.sh"
shared reference-logs || skip_all "the reference logs are not on this machine"

table() { # DIR ENGINE FORMAT: the same columns from the report
    unetctl report --logs "$UNETCTL_SHARED/reference-logs/$1" --json - | python3 -c '
import json, sys
engine, form = sys.argv[1:]
for e in json.load(sys.stdin)["engines"]:
    if e["engine"] == engine:
        for p in e["points"]:
            m = lambda k: p[k]["median"]
            print(form % (p["gpus"], m("first_epoch_s"), m("median_epoch_s"), m("training_time"),
                          m("test_time"), m("iou"), m("loss"), p["speedup_epoch_1"], p["speedup_total"]))
' "$2" "$3"
}

full='%d %.2f %.2f %.1f %.3f %.4f %.4f %.2f %.2f'
is "$(table tensorflow native "$full")" \
"1 50.69 37.61 7535.5 1.890 0.9643 0.0093 1.00 1.00
2 38.92 18.93 3828.6 2.205 0.9508 0.0100 1.99 1.97
4 39.52 10.95 2236.6 2.182 0.9506 0.0106 3.44 3.37
6 31.97 7.03 1450.1 2.345 0.9345 0.0121 5.38 5.20
8 29.89 5.56 1155.7 1.518 0.9241 0.0124 6.73 6.52
10 37.60 4.74 1001.8 1.760 0.9105 0.0150 7.92 7.52
12 29.68 3.70 785.9 2.066 0.5509 0.0168 10.18 9.59
14 29.71 3.36 718.4 2.133 0.4858 0.0287 11.24 10.49" "TensorFlow, tf.distribute"
is "$(table tensorflow horovod "$full")" \
"1 66.25 37.55 7547.0 1.876 0.9653 0.0095 1.00 1.00
2 58.29 19.10 3859.2 1.132 0.9678 0.0093 1.96 1.96
4 50.15 9.60 1960.6 0.658 0.9195 0.0224 3.90 3.85
6 46.04 6.26 1291.9 0.247 0.9560 0.0112 5.99 5.84
8 44.75 4.83 1006.1 0.133 0.8862 0.0162 7.76 7.50
10 44.52 3.81 803.5 0.127 0.9444 0.0146 9.83 9.39
12 50.33 3.13 674.1 0.125 0.9170 0.0210 11.95 11.20
14 42.85 2.78 599.2 0.126 0.8882 0.0207 13.47 12.59" "TensorFlow, Horovod"
# For PyTorch they print fewer columns: GPUs, median, total, IoU, loss, speed-up by epoch 1.
few='%d #%.0s%.1f %.1f #%.0s%.4f %.4f %.2f #%.0s'
few=${few//\#/}
is "$(table pytorch native "$few" | tr -s ' ' | sed 's/ $//')" \
"1 192.6 38765.4 0.8998 0.0021 1.00
2 103.7 20774.7 0.8977 0.0023 1.84
4 53.6 10741.2 0.8840 0.0033 3.58
6 34.9 6994.0 0.8517 0.0043 5.46
8 27.6 5535.3 0.8680 0.0041 6.86
10 22.2 4460.7 0.7814 0.0082 8.50
12 17.9 3594.8 0.8022 0.0094 10.66
14 16.2 3241.0 0.9244 0.0093 11.88" "PyTorch, DDP"
is "$(table pytorch horovod "$few" | tr -s ' ' | sed 's/ $//')" \
"1 194.2 38880.9 0.8985 0.0016 1.00
2 174.9 35061.0 0.8846 0.0024 1.11
4 106.0 21196.4 0.8942 0.0037 1.78
6 70.6 14130.3 0.8843 0.0039 2.88
8 56.0 11219.1 0.8673 0.0136 3.47
10 44.3 8869.8 0.7835 0.0121 4.39
12 36.4 7272.9 0.7929 0.0120 5.33
14 32.5 6507.2 0.9018 0.0277 5.70" "PyTorch, Horovod"

done_testing
