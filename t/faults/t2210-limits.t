#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real time limits and real preemption of the real trainer. Slurm examines limits twice a minute, so
# this is not part of make check.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI: 3 GPUs need two nodes"
sandbox_up --nodes 7 --gpus-per-node 2
ok "the controller preempts" sandbox_preempts REQUEUE 7

# As many epochs as take a minute on this machine: longer than Slurm needs to examine a limit.
ok "a data set" unetctl data synth --out images --count 16 --size 64x64 --seed 1
ok "a short training" unet-train train --data images --size 64x64 --out short --epochs 12 \
    --batch-size 2 \
    --set model.base=4 --set model.depth=3 --set data.repeat=8 --threads 1 --gpus 1
epochs=$(python3 -c 'import json, statistics, sys
rows = [json.loads(line) for line in open("short/record.jsonl")]
print(int(60 / statistics.median(r["seconds"] for r in rows if r["kind"] == "epoch")) + 1)')
echo "# $epochs epochs"
ok "a study" unetctl init study --data images --site sandbox --set data.height=64 \
    --set data.width=64 \
    --set "train.epochs=$epochs" --set train.batch_per_gpu=2 --set data.repeat=8 \
    --set model.base=4 \
    --set model.depth=3
sed '/^licenses:/d' "$srcdir/templates/sites/sandbox.yaml" \
    >study/site.yaml # runs need not take turns
sed -i 's/^site:.*/site: .\/site.yaml/' study/study.yaml
cd study || exit 255
attempt() { echo "runs/unet-g0$1-s1/attempt-${2:-1}"; }
epoch() { cut -d, -f1 "$(attempt "$@")/log.csv" 2>/dev/null | tail -n 1; }
job() { cat "$(attempt "$1")/job"; }
is_state() { [ "$(states . | awk -v run="unet-g0$1-s1" '$1 == run { print $2 }')" = "$2" ]; }
trains() { [ "$(grep -c '"kind":"epoch"' "$(attempt "$1")/record.jsonl")" -ge 3 ]; }
later() { date -d "+$1 sec" +%Y-%m-%dT%H:%M:%S; }
restarted() { [ "$(login scontrol -o show job "$1" | sed 's/.*Restarts=\([0-9]*\).*/\1/')" -ge \
    1 ]; }
whole() { # GPUS [ATTEMPT]: does log.csv have each epoch once?
    is "$(awk -F, 'NR > 1 { print $1 }' "$(attempt "$@")/log.csv" | sort -n | uniq | wc -l)" \
        "$epochs" "each epoch is there"
    is "$(awk -F, 'NR > 1' "$(attempt "$@")/log.csv" | wc -l)" "$epochs" "once"
}

# ---- the limit: USR1 120 s before it, requeue; and a run that nobody warns
exits 0 "a run" unetctl submit --gpus 1
exits 0 "one without warning" unetctl submit --gpus 2 --set slurm.signal_s=0
ok "train" wait_until 120 eval 'trains 1 && trains 2'
login scontrol update job="$(job 1)" EndTime="$(later 100)"
login scontrol update job="$(job 2)" EndTime="$(later 1)"
ok "USR1 before its limit: requeued" wait_until 120 restarted "$(job 1)"
is "$(cat "$(attempt 1)/stopped")" USR1 "by itself"
ok "with a checkpoint" test -n "$(find "$(attempt 1)/checkpoint" -name 'state-*')"
ok "out of time: TIMEOUT" wait_until 120 is_state 2 TIMEOUT
like <(unetctl status) "unet-g02-s1 .*'unetctl resume' continues" "and what to type"
exits 1 "watch: it has no result" unetctl watch unet-g02-s1
exits 0 "resume" unetctl resume unet-g02-s1
like "$ERR" 'attempt 2 continues from the checkpoint of attempt 1' "from the checkpoint of TERM"
ok "the requeued one ends" wait_until 900 is_state 1 COMPLETED
whole 1
like <(cat "$(attempt 1)"/slurm-*.out) "continues from .*: epoch [0-9]+, " "it went on"
ok "the resumed one ends, too" wait_until 900 is_state 2 COMPLETED
whole 2 2
is "$(find runs -name 'attempt-2' | wc -l)" 1 "only that one needed a second attempt"

# ---- preemption
exits 0 "a run of three ranks" unetctl submit --gpus 3
ok "trains" wait_until 120 trains 3
login sbatch -p short -N 7 --exclusive -o /dev/null --wrap 'sleep 2' >"$OUT"
ok "an urgent job preempts it: requeued" wait_until 120 restarted "$(job 3)"
before=$(find "$(attempt 3)/checkpoint" -name 'state-*' | sed 's/.*state-0*\([0-9]*\)-.*/\1/' |
    sort -n | tail -n 1)
ok "with a checkpoint behind epoch ${before:-(none)}" test "${before:-0}" -ge 2
ok "it comes back and ends" wait_until 900 is_state 3 COMPLETED
whole 3
is "$(sandbox_pgrep "$TMP" -x unet-train)" "" "no process is left"
exits 0 "collect" unetctl collect
is "$(grep -c ',done,' logs/results.csv)" 3 "takes all three"
done_testing
