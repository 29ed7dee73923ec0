#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report --predict: what numbers of GPUs that were not run would give.
# launcher/analysis/test/prediction.c checks the calculation.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
without_pictures

log() { # N SECONDS: a log of the reference's form, 4 epochs
    echo ",time_per_epoch,loss,lr,training_time,test_time,iou"
    for i in 0 1 2 3; do echo "$i,$2,0.5,0.001,$(awk "BEGIN { print 4 * $2 }"),1,0.9"; done
}
mkdir logs
log 1 10.0 >logs/log_1.csv
facts=(--train-images 1000 --batch-per-gpu 10 --parameters 1000000 --gpus-per-node 2)
predict() { unetctl report --logs logs "${facts[@]}" --links 10:100,1:1000 "$@"; }

exits 0 "a prediction from one measured number is made" predict --predict 1..4
like "$OUT" 'Scenarios, not measured: native of logs, from its runs on 1 GPU' \
    "from one measured number there are scenarios"
like <(tr '\n' ' ' <"$OUT") 'a serial part of 0, 2 and 5 % of the epoch' "a serial part is among them"
like "$OUT" '^ +2 ' "2 GPUs are not marked"
like "$OUT" '^ +3\* ' "3 GPUs are marked as more than twice the measured number"
like <(tr '\n' ' ' <"$OUT") \
    'More than twice the largest number that was measured \(1\): an extrapolation' \
    "the mark is explained as an extrapolation"
like <(tr '\n' ' ' <"$OUT") \
    'It assumes: a step of 100.0 ms for 10 images on 1 GPU, as measured; 4.00 MB of gradients' \
    "the assumptions are listed"
ok "no folder is written" test ! -e report
exits 0 "a prediction is written as JSON" predict --predict 4 --json p.json
number() { field p.json "round(d[0][\"points\"][0]$1, 6)"; }
is "$(number '["comm_s"]["low"]')" 0.0066 "sums: 0.4 ms + 0.2 ms within, 4 ms + 2 ms between nodes"
is "$(number '["step_s"]["low"]')" 0.10165 "low: one slice of four is not hidden"
is "$(field p.json 'd[0]["points"][0]["extrapolated"], d[0]["scenarios"]')" "(True, True)" \
    "the JSON marks the extrapolation and the scenarios"
exits 0 "with batch norm's sums" predict --predict 4 --norm-sums 36 --json p.json
is "$(number '["comm_s"]["low"]')" 0.0858 "36 times 2.2 ms more"
exits 0 "a prediction with batch norm is printed" predict --predict 4 --norm-sums 36
like <(tr '\n' ' ' <"$OUT") '36 sums of batch norm a step, of few bytes and never hidden' \
    "the text has the number of sums of batch norm"
log 2 5.25 >logs/log_2.csv
log 4 2.75 >logs/log_4.csv
exits 0 "a prediction from three measured numbers is written" predict --predict 4,8,16 --json p.json
is "$(field p.json '[p["extrapolated"] for p in d[0]["points"]], d[0]["scenarios"]')" \
    "([False, False, True], False)" "with three measurements, twice the largest is no extrapolation"
is "$(number '["measured_epoch_s"]')" 2.75 "what was measured stands beside"
ok "the bounds hold it" test \
    "$(field p.json 'all(p["epoch_s"]["low"] <= p["epoch_s"]["expected"] <= p["epoch_s"]["high"] for p in d[0]["points"]) and d[0]["points"][0]["epoch_s"]["low"] <= 2.75 <= d[0]["points"][0]["epoch_s"]["high"]')" = True
exits 0 "a prediction is printed" predict --predict 4,8,16
like <(tr '\n' ' ' <"$OUT") 'Predicted, not measured: .* if no limit begins beyond 4, which runs up to 4 cannot show' \
    "the text names what it assumes"
like <(tr '\n' ' ' <"$OUT") 'number that is left out is predicted within' "it has the leave-one-out error"
unlike "$OUT" 'relative to' "its speed-up is that over one GPU"
exits 0 "a prediction from two GPUs on is printed" predict --base 2 --predict 8
like <(tr '\n' ' ' <"$OUT") 'Speed-up and efficiency are relative to 2 GPUs' "its text says over how many"
log 8 5.40 >logs/log_8.csv
exits 8 "where the largest number contradicts the others, nothing is predicted" predict --predict 16
like "$ERR" 'cannot be predicted: .*Repeat them, or measure more' "the error says what to do"
exits 0 "a report is made of it" unetctl report --logs logs "${facts[@]}"
unlike report/report.html 'fitted model' "such a model is not drawn"
exits 0 "its text is printed" unetctl report --logs logs "${facts[@]}" --text
like <(tr -s '\n ' ' ' <"$OUT") 'No model of the times is used: it misses' "the report says why"
unlike "$OUT" 'predicts a count|the model predicts' "and predicts nothing"
rm -r report logs/log_8.csv
# What is not known widens the interval, and each sentence says what it assumes.
study() { # SECONDS with 1, 2, 4 and 8 GPUs
    rm -rf logs && mkdir logs
    for n in 1 2 4 8; do log $n "$1" >logs/log_$n.csv && shift; done
}
text() { unetctl report --logs logs "${facts[@]}" --text "$@" | tr -s '\n ' ' '; }
study 30 15 8 4
unlike <(text) 'predicts 0\.80' "whole seconds do not show what lies beyond 8 GPUs"
ok "nor that a deadline is met" test -z "$(text --deadline 0.0044 | grep -o 'Within the deadline')"
study 30.02 15.02 7.53 3.77
like <(text) 'predicts 0\.80 or more up to [0-9]+, if no limit begins beyond 8, which runs up to 8 cannot show\.' \
    "hundredths of seconds show it, with its assumption"
facts[7]=8
exits 0 "a prediction beyond the first node is made" predict --predict 16
like <(tr '\n' ' ' <"$OUT") 'cannot show; none of them crosses a node boundary, whose cost is that of published tables: measure 16\.' \
    "a node boundary that was not measured is named"
study 30.02 15.52 8.22 5.83
exits 0 "a loss that accelerates is predicted" predict --predict 16 --json p.json
ok "in a wide interval" test "$(field p.json '(lambda e: e["high"] / e["low"] > 2)(d[0]["points"][0]["epoch_s"])')" = True
facts[7]=2
study 10.0 5.25 2.75 5.40
rm logs/log_8.csv
# Amdahl's law, 9.5 s / N + 0.5 s: without batch, parameters and links the times alone predict.
log 4 2.875 >logs/log_4.csv
exits 0 "three measured numbers need no batch, no parameters and no links" \
    unetctl report --logs logs --predict 8 --json p.json
ok "the true time is within the bounds, and the speed-up above the measured one" test "$(field p.json \
    'd[0]["points"][0]["epoch_s"]["low"] < 1.6875 < d[0]["points"][0]["epoch_s"]["high"] and d[0]["points"][0]["speedup"]["low"] > 10 / 2.875')" = True
is "$(field p.json 'd[0]["linked"], d[0]["within"], d[0]["points"][0]["comm_s"]')" \
    "(False, None, None)" "nothing is said of links"
exits 0 "it is printed" unetctl report --logs logs --predict 8
like <(tr '\n' ' ' <"$OUT") 'What more GPUs lose is learnt from the measured times alone' "the text says so"
unlike "$OUT" 'gradients, summed|bandwidth|step ms' "and has no figures of links"
exits 0 "links that are given are part of it" predict --predict 8 --json p.json
is "$(field p.json 'd[0]["linked"]')" True "as the JSON says"
# One measured number says nothing of what GPUs lose: the costs of links must be known.
rm logs/log_[24].csv
known=()
for option in --batch-per-gpu=10 --train-images=1000 --parameters=1000000 --gpus-per-node=2 \
    --links=10:100,1:1000; do
    exits 8 "one measured number without ${option%%=*} is refused" \
        unetctl report --logs logs --predict 4 ${known[@]+"${known[@]}"}
    like "$ERR" "needs: ${option%%=*} " "the error names the option"
    known+=("$option")
done
exits 0 "with all of them there are scenarios" unetctl report --logs logs --predict 4 "${known[@]}"
exits 2 "an unknown link" predict --predict 4 --links nvlink9,ib-edr
like "$ERR" 'neither a link \(nvlink1, .*ib-ndr' "the error lists the known links"
exits 2 "one link where two are needed is refused" predict --predict 4 --links nvlink2
exits 2 "no number" predict --predict some
done_testing
