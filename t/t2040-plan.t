#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan --test-only with a real Slurm: when and where each run would start, and runs that never
# could.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
sandbox_up --nodes 2 --gpus-per-node 2

make_study one sandbox
njobs() { login squeue -h -a -t all -o %i | wc -l; }
start_of() { date -d "$(field "$OUT" "d['runs'][$1]['start']")" +%s; }
exits 0 "plan --test-only" unetctl plan -C one --gpus 1..4 --test-only --json
is "$(field "$OUT" '[r["nodelist"] for r in d["runs"]]')" \
    "['node1', 'node1', 'node[1-2]', 'node[1-2]']" "the JSON of the plan has the nodes of each run"
ok "the runs would start now" test $(($(start_of 3) - $(date +%s))) -lt 300
is "$(njobs)" 0 "nothing was submitted"
ok "nothing was written" test ! -e one/runs
login sbatch -N2 --exclusive -t 30 -o /dev/null --wrap 'sleep 1000' >/dev/null
ok "another job takes the nodes" wait_until 30 eval 'login squeue -h -t R | grep -q .'
exits 0 "plan --test-only behind another job" unetctl plan -C one --gpus 1..4 --test-only --json
ok "the start is when that job ends" test $(($(start_of 3) - $(date +%s))) -gt 900
exits 0 "plan --test-only prints a table" unetctl plan -C one --gpus 4 --test-only
like "$OUT" "^unet-g04-s1 .* 20[0-9-]+T[0-9:]+Z +node\[1-2\]$" "it has start and nodes"
exits 4 "a partition that does not exist is refused" unetctl plan -C one --gpus 1 --test-only -- \
    --partition=nowhere
like "$ERR" "unknown partition 'nowhere' .known: main, short" "the error lists the partitions"
exits 4 "more GPUs than there are are refused" unetctl plan -C one --gpus 5 --test-only
like "$ERR" '5 GPUs.*3 nodes are asked for' "the error says how many are missing"
exits 4 "a time limit above the partition's is refused" \
    unetctl plan -C one --gpus 1 --test-only -- -p short \
    -t 20
exits 3 \
    "a plan above the budget is not submitted" unetctl submit -C one --gpus 1..4 --max-gpu-hours 5
is "$(njobs)" 1 "only the other job is queued"
done_testing
