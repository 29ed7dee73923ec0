#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --max-in-flight and --after on a real Slurm make dependencies between jobs, so that no unetctl
# process remains.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 2
depends() { login squeue -h -j "$1" -o %E | grep -o '[0-9]*' | xargs; } # ID: on which jobs

make_study lanes sandbox
sed -i '/^licenses:/d' lanes/site.yaml # all at once
# The seeds of one count are submitted in their order.
exits 0 "--max-in-flight 2, held" unetctl submit -C lanes --gpus 1 --seeds 4 --max-in-flight 2 \
    --parsable -- --hold
mapfile -t id <"$OUT"
is "$(depends "${id[0]}")|$(depends "${id[1]}")|$(depends "${id[2]}")|$(depends "${id[3]}")" \
    "||${id[0]}|${id[1]}" "each job waits for the job two places before it"
exits 0 "another run is submitted" \
    unetctl submit -C lanes --gpus 5 --max-in-flight 2 --parsable -- --hold
is "$(depends "$(cat "$OUT")")" "${id[2]}" "it depends on the older of the last two jobs"
exits 0 "a run is submitted --after a run and a job" \
    unetctl submit -C lanes --gpus 6 --parsable --after unet-g01-s1 \
    --after "${id[3]}" -- --hold
is "$(depends "$(cat "$OUT")")" "${id[0]} ${id[3]}" "it waits for both"
exits 2 "--after a job that does not exist is refused" \
    unetctl submit -C lanes --gpus 7 --after 999999 -- --hold
like "$ERR" 'error: --after 999999: the job does not exist' "the error names the job"
make_study next sandbox
exits 0 "a run is submitted --after a study" \
    unetctl submit -C next --gpus 1 --parsable --after lanes -- --hold
is "$(depends "$(cat "$OUT")" | wc -w)" 6 "it waits for all jobs of the study"
exits 2 "--max-in-flight with a dependency on one of several jobs is refused" \
    unetctl submit -C next --gpus 2 --max-in-flight 1 -- \
    "--dependency=afterok:${id[0]}?afterok:${id[1]}"
login scancel -u "$(id -un)"
cancelled() { [ "$(states lanes | grep -c CANCELLED)" = 6 ]; }
ok "all runs are cancelled" wait_until 60 cancelled
exits 0 "three are resumed with --max-in-flight 2 and --after" unetctl resume -C lanes \
    unet-g01-s1 unet-g01-s2 unet-g01-s3 --max-in-flight 2 --after next -- --hold
unetctl status -C lanes unet-g01-s1 unet-g01-s2 unet-g01-s3 --json >"$OUT"
mapfile -t id < <(field "$OUT" '"\n".join(r["job"] for r in d["runs"])')
like <(depends "${id[2]}") "\<${id[0]}\>" "the third waits for the first of them"
exits 0 "one is submitted again" unetctl submit -C lanes --gpus 1 -- --hold
like "$ERR" 'warning: 1 run is active and keeps the options of its own submission; .*: --hold ' \
    "options do not reach its job"
exits 0 "they are released" unetctl release -C lanes
is "$(unetctl status -C lanes --state PENDING | grep -c JobHeld)" 0 "none is held"
make_step_study together sandbox
exits 0 "two runs in one held job" unetctl submit -C together --gpus 1,2 --one-allocation -- --hold
like <(unetctl status -C together) 'unet-g02-s1 +PENDING .*JobHeldUser: held by you' \
    "each run is shown as held"
exits 0 "their job is released once" unetctl release -C together
like "$ERR" 'unet-g02-s1: job [0-9]+ was released' "for both"
login scancel -u "$(id -un)"

make_study one sandbox
sed -i '/^licenses:/d' one/site.yaml
echo "slow 5" >one/behave
exits 0 \
    "with --max-in-flight 1 all runs are done" unetctl submit -C one --gpus 1 --seeds 3 \
    --max-in-flight 1 \
    --parsable \
    --wait --timeout 200
mapfile -t id <"$OUT"
time_of() { login scontrol -o show job "$2" | grep -o "$1Time=[^ ]*" | cut -d= -f2; } # Start|End ID
for i in 1 2; do
    end=$(time_of End "${id[i - 1]}") begin=$(time_of Start "${id[i]}")
    ok "job $((i + 1)) began ($begin) when job $i had ended ($end)" test ! "$begin" \< "$end"
done
done_testing
