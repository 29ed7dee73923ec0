#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# submit --until-decided on a real Slurm: killed ten times, it ends with the rounds of an
# undisturbed one, and with --one-allocation each round is one job.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/rounds.sh
. "$srcdir/t/rounds.sh"
sandbox_up --nodes 4 --gpus-per-node 2

lines=('quality: {name: score, better: higher}' 'slurm: {time: "10"}')
until=(--until-decided --gpus '1,2,4' --max-gpu-hours 9)
jobs_of() { # STUDY: how many jobs Slurm has had of it
    login scontrol -o show job | grep -c "Comment=unetctl:$(cat "$1/.unetctl/id"):"
}

make_rounds one sandbox "${lines[@]}"
one_job=(--one-allocation)
login srun --mpi=list 2>&1 | grep -q '\<pmix$' || one_job=()
exits 0 "undisturbed" unetctl submit -C one "${until[@]}" ${one_job[@]+"${one_job[@]}"}
like "$OUT" '^decided after 2 rounds .*: 4 GPUs are the fastest count measured that is' "it ends with a verdict"
if [ ${#one_job[@]} -gt 0 ]; then
    is "$(jobs_of one)" 2 "there were as many jobs as rounds"
else
    skip "this Slurm has no PMIx" "there were as many jobs as rounds"
fi

RANDOM=${SEED:-11}
make_rounds two sandbox "${lines[@]}"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    unetctl submit -C two "${until[@]}" >killed.out 2>&1 &
    sleep $((RANDOM % 2)).$((RANDOM % 10))
    kill -s KILL $!
    wait $! 2>/dev/null
done
unetctl submit -C two "${until[@]}" --no-wait >killed.out 2>&1
exits 0 "killed ten times, watch continues" unetctl watch -C two
is "$(rounds two)" "$(rounds one)" "with the same rounds"
is "$(submissions two)" "" "no run was submitted twice"
is "$(jobs_of two)" "$(field two/.unetctl/rounds.json 'sum(len(r["runs"]) for r in d["rounds"])')" \
    "each has one job"
ok "none was lost" all_states two COMPLETED
done_testing
