#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Running jobs on a real Slurm are interrupted and resume from their checkpoints. t/faults has cases
# that take longer: time limits, preemption.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 2

make_study study sandbox
sed -i '/^licenses:/d' study/site.yaml # all at once
cd study || exit 255
echo "slow 60" >behave
exits 0 "four runs are submitted" unetctl submit --gpus 1..4
epochs() { cat "runs/unet-g0$1-s1/attempt-${2:-1}/checkpoint/epoch" 2>/dev/null || echo 0; }
job() { cat "runs/unet-g0$1-s1/attempt-1/job"; }
output() { cat "runs/unet-g0$1-s1/attempt-${2:-1}"/slurm-*.out; }
all_train() {
    local g
    for g in 1 2 3 4; do [ "$(epochs "$g")" -ge 2 ] || return 1; done
}
ok "all runs train" wait_until 60 all_train

# ---- four ways to be stopped
ok "USR1 before the time limit, on one node" login scancel --signal=USR1 --batch "$(job 1)"
ok "the second job is requeued" login scontrol requeue "$(job 2)"
ok "USR1 before the time limit, ranks on two nodes" login scancel --signal=USR1 --batch "$(job 3)"
node=$(login scontrol -o show job "$(job 4)" | sed 's/.*BatchHost=\([^ ]*\).*/\1/')
ok "the node of the fourth job goes down" \
    login scontrol update nodename="$node" state=down reason=test
all_wait() { [ "$(states . | awk '$2 == "PENDING"' | wc -l)" = 4 ]; }
ok "all jobs wait to run again" wait_until 60 all_wait
like <(unetctl status) 'unet-g01-s1 .*restart 1, BeginTime' "status says why"
login scontrol update partitionname=main \
    state=down # nothing starts while the controller is away: its launch would fail
ok "there is no marker, since nothing is decided" eval \
    '! ls runs/*/attempt-1/DONE runs/*/attempt-1/FAILED 2>/dev/null'
is "$(cat runs/unet-g01-s1/attempt-1/stopped)" USR1 "the signal that stopped the run is noted"
exits 0 "submit again" unetctl submit --gpus 1..4
like "$ERR" '^unetctl: 0 runs submitted; before: 4 active' "submit again submits nothing"

# ---- meanwhile: the controller restarts, and a run is cancelled and resumed
sandbox_stop_controller
exits 4 "status while the controller is down fails" unetctl status
login slurmctld -i
exits 0 "a fifth run is submitted" unetctl submit --gpus 5 -- --nice=100
stopped_at_2() { [ "$(epochs 5)" -ge 2 ]; }
ok "it trains" wait_until 60 stopped_at_2
exits 0 "it is cancelled" unetctl cancel unet-g05-s1
cancelled() { states . | grep -q "g05-s1 CANCELLED"; }
ok "it is CANCELLED" wait_until 60 cancelled
ok "it has a checkpoint" test "$(epochs 5)" -ge 2
exits 0 "it is resumed" unetctl resume unet-g05-s1
like "$ERR" 'attempt 2 continues from the checkpoint of attempt 1' "it says where the run resumes"
like runs/unet-g05-s1/run_file.sh '--out attempt-2 --resume attempt-1$' \
    "the trainer gets the checkpoint"

# ---- the end
# The exit code is kept in a file: bash forgets it if the process's number is used again.
{ unetctl logs -f unet-g01-s1 unet-g05-s1 >logs.out 2>&1; echo $? >logs.code; } &
logs=$!
# Slurm holds a job whose launch fails, as on a slow machine where the dead node's step is still
# ending. Releasing it is an operator's task.
all_done() {
    local id
    sandbox_start_requeued
    for id in $(login squeue -h -t PD -o '%i %r' |
        awk '/launch failed requeued held/ { print $1 }'); do
        login scontrol release "$id"
    done
    all_states . COMPLETED
}
ok "all runs are done" wait_until 400 all_done
exits 0 "watch reports that" unetctl watch --timeout 120
for g in 1 2 3 4; do
    like <(output $g) 'resumes after ([2-9]|[1-5][0-9]) epochs of attempt-1' \
        "$g GPUs: the training continued from the checkpoint"
    is "$(find "runs/unet-g0$g-s1" -name 'attempt-*' | wc -l)" 1 "it has one attempt"
done
wait $logs
is "$(cat logs.code)" 0 "logs -f of two runs ends with them"
like logs.out '^unet-g01-s1: trainer: resumes after' "a line names the run that it is from"
like logs.out '^unet-g05-s1: trainer: resumes after' "the other run has lines, too"
like <(output 5 2) 'resumes after .* of attempt-1' "the cancelled run has resumed in attempt 2"
is "$(login squeue -h -a -t all -o %k | grep -c "^unetctl:$(cat .unetctl/id):")" 6 \
    "there are six jobs in all"
# ---- jobs that Slurm has forgotten
echo hang >behave
exits 0 "a run that hangs is submitted" unetctl submit --gpus 6
hangs() { output 6 | grep -q 'trainer: hang'; }
ok "it is running" wait_until 60 hangs
login scancel "$(job 6)"
exits 1 "watch reports scancel as a failure" unetctl watch unet-g06-s1 --timeout 60
sandbox_stop_controller
login slurmctld -i -c # without its state
knows_none() { [ -z "$(login squeue -h -a -t all)" ]; }
ok "the controller has forgotten all jobs" wait_until 60 knows_none
is "$(states . | grep g06)" "unet-g06-s1 CANCELLED" "accounting knows how the job ended"
rm "$XDG_STATE_HOME/unetctl/sandbox/log/jobcomp.log"
like <(unetctl status) 'unet-g06-s1 +UNSEEN .*counts as lost after 120 s' \
    "without accounting the run is not LOST at once"
exits 2 "it is not resumed yet" unetctl resume unet-g06-s1 -- --hold
export UNETCTL_ABSENT_S=0
like <(unetctl status) 'unet-g06-s1 +LOST .*no accounting that answers' \
    "later it is LOST, and status says why"
exits 0 "the run is resumed" unetctl resume unet-g06-s1 -- --hold
ok "it has attempt 2" test -d runs/unet-g06-s1/attempt-2
is "$(sandbox_pgrep "$TMP" -f '[t]rainer.sh')" "" "no process is left"
done_testing
