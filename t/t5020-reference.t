#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report on the reference systems' 32 logs reproduces every figure that they print. Per count: GPUs,
# first epoch, median epoch, total, test, IoU, final loss, speed-up by epoch 1 and by total; and,
# from the images that were processed, images per second and efficiency.
. "${srcdir:-.}/t/lib.sh"
shared reference-logs || skip_all "the reference logs are not on this machine"

table() { # DIR ENGINE FORMAT: the same columns from the report
    unetctl report --logs "$UNETCTL_SHARED/reference-logs/$1" --train-images 1792 \
        --batch-per-gpu 16 \
        --json - | python3 -c '
import json, sys
engine, form = sys.argv[1:]
for e in json.load(sys.stdin)["engines"]:
    if e["engine"] == engine:
        for p in e["points"]:
            m = lambda k: p[k]["median"]
            print(form % (p["gpus"], m("first_epoch_s"), m("median_epoch_s"), m("training_time"),
                          m("test_time"), m("iou"), m("loss"), p["speedup_one_epoch"], p["speedup_total"],
                          m("images_per_s"), 100 * p["efficiencies"]["images_per_s"]["value"]))
' "$2" "$3"
}

full='%d %.2f %.2f %.1f %.3f %.4f %.4f %.2f %.2f %.1f %.1f%%'
is "$(table tensorflow native "$full")" \
"1 50.69 37.61 7535.5 1.890 0.9643 0.0093 1.00 1.00 47.6 100.0%
2 38.92 18.93 3828.6 2.205 0.9508 0.0100 1.99 1.97 94.7 99.3%
4 39.52 10.95 2236.6 2.182 0.9506 0.0106 3.44 3.37 163.7 85.9%
6 31.97 7.03 1450.1 2.345 0.9345 0.0121 5.38 5.20 245.8 86.0%
8 29.89 5.56 1155.7 1.518 0.9241 0.0124 6.73 6.52 322.2 84.5%
10 37.60 4.74 1001.8 1.760 0.9105 0.0150 7.92 7.52 371.0 77.9%
12 29.68 3.70 785.9 2.066 0.5509 0.0168 10.18 9.59 466.9 81.7%
14 29.71 3.36 718.4 2.133 0.4858 0.0287 11.24 10.49 533.0 79.9%" "TensorFlow, tf.distribute"
is "$(table tensorflow horovod "$full")" \
"1 66.25 37.55 7547.0 1.876 0.9653 0.0095 1.00 1.00 47.7 100.0%
2 58.29 19.10 3859.2 1.132 0.9678 0.0093 1.96 1.96 93.8 98.3%
4 50.15 9.60 1960.6 0.658 0.9195 0.0224 3.90 3.85 186.8 97.8%
6 46.04 6.26 1291.9 0.247 0.9560 0.0112 5.99 5.84 276.2 96.4%
8 44.75 4.83 1006.1 0.133 0.8862 0.0162 7.76 7.50 371.2 97.2%
10 44.52 3.81 803.5 0.127 0.9444 0.0146 9.83 9.39 462.0 96.8%
12 50.33 3.13 674.1 0.125 0.9170 0.0210 11.95 11.20 552.2 96.4%
14 42.85 2.78 599.2 0.126 0.8882 0.0207 13.47 12.59 644.5 96.5%" "TensorFlow, Horovod"
# For PyTorch the reference prints fewer columns: GPUs, median, total, IoU, loss, speed-up by epoch
# 1.
few='%d #%.0s%.1f %.1f #%.0s%.4f %.4f %.2f #%.0s%.1f %.1f%%'
few=${few//\#/}
is "$(table pytorch native "$few" | tr -s ' ' | sed 's/ $//')" \
"1 192.6 38765.4 0.8998 0.0021 1.00 9.3 100.0%
2 103.7 20774.7 0.8977 0.0023 1.84 17.3 92.9%
4 53.6 10741.2 0.8840 0.0033 3.58 33.4 89.9%
6 34.9 6994.0 0.8517 0.0043 5.46 49.5 88.7%
8 27.6 5535.3 0.8680 0.0041 6.86 64.9 87.3%
10 22.2 4460.7 0.7814 0.0082 8.50 79.1 85.0%
12 17.9 3594.8 0.8022 0.0094 10.66 96.6 86.5%
14 16.2 3241.0 0.9244 0.0093 11.88 110.9 85.2%" "PyTorch, DDP"
is "$(table pytorch horovod "$few" | tr -s ' ' | sed 's/ $//')" \
"1 194.2 38880.9 0.8985 0.0016 1.00 9.2 100.0%
2 174.9 35061.0 0.8846 0.0024 1.11 10.2 55.5%
4 106.0 21196.4 0.8942 0.0037 1.78 16.9 45.8%
6 70.6 14130.3 0.8843 0.0039 2.88 24.5 44.2%
8 56.0 11219.1 0.8673 0.0136 3.47 32.0 43.3%
10 44.3 8869.8 0.7835 0.0121 4.39 39.7 43.0%
12 36.4 7272.9 0.7929 0.0120 5.33 47.5 42.8%
14 32.5 6507.2 0.9018 0.0277 5.70 55.2 42.7%" "PyTorch, Horovod"

# One run per count does not decide quality, so the verdict is what is within reach by time.
reach() { # DIR...: engine, count within reach, count to use, seeds, next count
    unetctl report "${@/#/--logs=$UNETCTL_SHARED/reference-logs/}" --json - | python3 -c '
import json, sys
for e in json.load(sys.stdin)["engines"]:
    v = e["verdict"]
    print(e["study"], e["engine"], v["reach_gpus"], v["worth_gpus"], v["next_seeds"], v["next_gpus"])'
}
tensorflow='tensorflow horovod 14 None 3 None
tensorflow native 12 None 3 None'
pytorch='pytorch horovod 1 None 3 None
pytorch native 14 None 3 None'
is "$(reach tensorflow)" "$tensorflow" "TensorFlow: the counts within reach"
is "$(reach pytorch)" "$pytorch" "PyTorch: the counts within reach; with Horovod single runs do not decide"
is "$(reach tensorflow pytorch)" "$tensorflow
$pytorch" "side by side the same"
unetctl report --logs "$UNETCTL_SHARED/reference-logs/tensorflow" --text >text
unlike text 'worth it|still pays|save more' "nothing more is claimed"

# The notebook for PyTorch compares another epoch.
time_of() { awk -F, '$1 == 4 {print $2}' "$UNETCTL_SHARED/reference-logs/pytorch/$1"; }
is "$(unetctl report --logs "$UNETCTL_SHARED/reference-logs/pytorch" --epoch 4 --json - | python3 -c '
import json, sys
for e in json.load(sys.stdin)["engines"]:
    print(e["engine"], e["one_epoch"], "%.4f" % e["points"][-1]["speedup_one_epoch"])')" \
    "$(for log in hvd_ ''; do
        echo "$(time_of log_${log}1.csv) $(time_of log_${log}14.csv) ${log:-native}"
    done | awk '{printf "%s 4 %.4f\n", $3 == "hvd_" ? "horovod" : $3, $1 / $2}')" "by epoch 4"

# The reference's figure: speed-up of epoch 1 and IoU by count.
ok "a report is made" unetctl report --logs "$UNETCTL_SHARED/reference-logs/tensorflow" -o r
is "$(awk -F, '$2 == 14 && $4 {printf "%.2f ", $4}' r/figures/one_epoch.csv)" \
    "14.00 0.89 13.47 0.49 11.24 " \
    "their figure with 14 GPUs: ideal; IoU, speed-up of Horovod; the same of tf.distribute"
done_testing
