#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real trainings in jobs that are requeued, asked to leave, killed, or left behind on a node that
# Slurm has given up. Each resumes from its checkpoint and ends with the weights of an undisturbed
# run, to the last bit.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
unet-train devices --json | grep -q '"mpi"\]' || skip_all "unet-train was built without MPI"
sandbox_up --nodes 8 --gpus-per-node 2

unet-train data synth --out data --count 40 --size 64x64 --seed 2 2>"$ERR"
# unet-train, which stops with the ranks that it forks at their first checkpoint if the study has
# the file hold-RUN, so that it cannot end before it is disturbed.
cat >trainer <<'END'
#!/bin/bash
if [ -e "../../hold-${PWD##*/}" ]; then
    stamp=$(mktemp -p ../..)
    is_new() {
        local state
        for state in attempt-*/checkpoint/state-*.safetensors; do
            [ ! "$state" -nt "$stamp" ] || return 0
        done
        return 1
    }
    {
        exec 3<> <(:)
        until is_new; do
            read -rt 0.02 -u 3
            kill -0 $$ || exit
        done
        # shellcheck disable=SC2046 # words
        kill -STOP $$ $(pgrep -P $$ -x unet-train)
    } &
fi
exec unet-train "$@"
END
chmod +x trainer
make_training() { # STUDY OPTIONS...
    mkdir "$1"
    grep -v '^licenses:' "$srcdir/templates/sites/sandbox.yaml" >"$1/site.yaml" # all at once
    echo "trainer: $TMP/trainer" >>"$1/site.yaml"
    unetctl init "$1" --data data --name "$1" --site "$1/site.yaml" --set data.height=64 \
        --set data.width=64 \
        --set model.base=4 --set model.depth=2 --set train.epochs=50 --set train.batch_per_gpu=4 \
        --set train.threads=1 --set train.checkpoint_s=0.1 "${@:2}" 2>"$ERR"
}
run() { echo "$1/runs/unet-g0$2-s1"; }
job() { cat "$(run "$1" "$2")/attempt-1/job"; }
begun() { [ -n \
    "$(find "$(run "$1" "$2")/attempt-${3:-1}/checkpoint" -name 'state-*.safetensors' 2>/dev/null)" ]; }
output() { cat "$(run "$1" "$2")/attempt-${3:-1}"/slurm-*.out; }
weights() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' \
    "$(run "$1" "$2")/attempt-${3:-1}/DONE"; }
curve() { cut -d, -f1,3,4,7 "$(run "$1" "$2")/attempt-${3:-1}/log.csv"; }
state() { states "$1" | awk -v run="unet-g0$2-s1" '$1 == run { print $2 }'; }
is_state() { [ "$(state "$1" "$2")" = "$3" ]; }
processes() { sandbox_pgrep "$TMP/$(run "$2" "$3")" -x "$1"; } # COMM STUDY GPUS

mkdir scratch
ok "a study that is not disturbed is made" make_training calm
ok "a study to disturb is made" make_training rough --set "data.stage=$TMP/scratch"
ok "another study to disturb is made" make_training harsh
for run in unet-g0{1,2,3}-s1; do touch {rough,harsh}/hold-"$run"; done
declare -A held=()
hold() { # STUDY GPUS [ATTEMPT]: stops also what the trainer has started
    local p
    [ -z "${held[$*]-}" ] || return 0
    begun "$@" && [ -z "$(processes trainer "$1" "$2")" ] || return 1
    held[$*]=$(processes unet-train "$1" "$2")
    for p in ${held[$*]}; do login kill -STOP "$p"; done
}
let_go() { # STUDY GPUS [ATTEMPT]
    local p
    rm -f "$1/hold-unet-g0$2-s1"
    for p in ${held[$*]}; do login kill -CONT "$p" 2>/dev/null; done
}
all_held() { # STUDY
    local g rc=0
    for g in 3 2 1; do hold "$1" "$g" || rc=1; done
    return "$rc"
}
exits 0 "three runs of one are submitted" unetctl submit -C rough --gpus 1..3
ok "all of them write checkpoints" wait_until 90 all_held rough
exits 0 "three runs of the other are submitted" unetctl submit -C harsh --gpus 1..3 -- --exclusive
ok "so do all of these" wait_until 90 all_held harsh
is "$(states rough; states harsh)" "$(printf 'unet-g0%d-s1 RUNNING\n' 1 2 3 1 2 3)" \
    "and none has ended"

ok "a job on two nodes is requeued" login scontrol requeue "$(job rough 3)"
ok "a job on one node is requeued" login scontrol requeue "$(job rough 1)"
let_go rough 3
let_go rough 1

# ---- two nodes are given up, because their slurmd died; what runs there does not know
lose_node() { # STUDY GPUS
    local node
    node=$(login scontrol -o show job "$(job "$1" "$2")" | sed 's/.*BatchHost=\([^ ]*\).*/\1/')
    login kill -KILL "$(cat "$XDG_STATE_HOME/unetctl/sandbox/run/slurmd.$node.pid")"
    login scontrol update nodename="$node" state=down reason=test
}
frozen="$(processes bash harsh 1) ${held[harsh 1]}"
for p in $frozen; do login kill -STOP "$p"; done # so that it is still there when its job runs again
left=${held[harsh 3]}
ok "the node of a frozen run is given up" lose_node harsh 1
ok "one of the two nodes of a run is given up" lose_node harsh 3
let_go harsh 3
# ---- the others
ok "a run gets USR1, as before its time limit" login scancel --signal=USR1 --batch "$(job harsh 2)"
let_go harsh 2
for p in ${held[rough 2]}; do login kill -KILL "$p"; done
ok "a run whose trainer is killed is FAILED" wait_until 30 is_state rough 2 FAILED
like <(unetctl status -C rough) 'unet-g02-s1 +FAILED .*killed by signal 9' "status says why"
exits 0 "it is resumed" unetctl resume -C rough unet-g02-s1
exits 0 "the undisturbed runs are submitted" unetctl submit -C calm --gpus 1..3
ok "the resumed run trains" wait_until 90 hold rough 2 2
ok "the job of its first attempt is requeued" login scontrol requeue "$(job rough 2)"

# ---- two starts of one job
gone() { # PROCESSES
    local p
    for p in $1; do sandbox_is_gone "$p" || return 1; done
}
ok "ranks whose node is given up end with their script" wait_until 15 gone "$left"
again() {
    sandbox_start_requeued
    [ -n "$(find "$(run harsh 1)/attempt-1/restart-1" -name record.jsonl 2>/dev/null)" ]
}
ok "the frozen run's job is started again" wait_until 240 again
still_there() { ! gone "$frozen"; }
ok "its first start still exists" still_there
for p in $frozen; do login kill -CONT "$p"; done
ok "thawed, the first start ends by itself" wait_until 20 gone "$frozen"
like <(output harsh 1) 'a later start of this job has taken' "it says why"
ok "the later start trains" wait_until 90 hold harsh 1 1
let_go harsh 1 1
comes_back() {
    sandbox_start_requeued
    [ "$(output rough 2 | grep -c 'attempt-1 was replaced by the next attempt')" = "$1" ]
}
ok "a job of an earlier attempt does nothing while the next one trains" wait_until 90 comes_back 1
let_go rough 2 2
all_done() { sandbox_start_requeued; all_states calm COMPLETED && all_states rough COMPLETED &&
    all_states harsh COMPLETED; }
ok "all runs are done" wait_until 300 all_done
for s in "rough 1 1" "rough 2 2" "rough 3 1" "harsh 1 1" "harsh 2 1" "harsh 3 1"; do
    read -r study gpus attempt <<<"$s"
    what="$study, $gpus GPUs"
    like <(output "$study" "$gpus" "$attempt") 'continues from .*attempt-1/checkpoint/state-' \
        "$what: the training continued from the checkpoint"
    is "$(weights "$study" "$gpus" "$attempt")" "$(weights calm "$gpus")" \
        "the weights equal those of the undisturbed run"
    is "$(curve "$study" "$gpus" "$attempt")" "$(curve calm "$gpus")" \
        "the curve equals that of the undisturbed run"
    is "$(find "$(run "$study" "$gpus")/attempt-$attempt" -name FAILED -o -name 'running-*' -o -name '*.tmp*')" "" \
        "no temporary files are left over"
done

# ---- a job of an earlier attempt that comes back
files() { find "$(run rough 2)" -type f ! -name 'slurm-*.out' -printf '%p %s %T@\n' | sort; }
before=$(files)
over() { job_ended "$(job rough 2)"; }
ok "it has ended" wait_until 30 over
ok "it is requeued when the second attempt is done" login scontrol requeue "$(job rough 2)"
ok "it does nothing" wait_until 90 comes_back 2
is "$(files)" "$before" "no file of the run has changed"
is "$(state rough 2)" COMPLETED "the run is done"

exits 0 "collect accepts the runs" unetctl collect -C harsh
is "$(python3 -c 'import csv
rows = list(csv.DictReader(open("harsh/logs/results.csv")))
print(*["%s %s" % (r["starts"], float(r["job_s"]) > float(r["training_time"])) for r in rows])')" \
    "2 True 2 True 2 True" \
        "and knows how long both starts of each took, also those that were killed"
is "$(sandbox_pgrep "$TMP" -x unet-train)" "" "no process is left"
ok "copies of the data are not in use any more" unetctl stage --remove --to "$TMP/scratch"
is "$(ls scratch)" "" "and none is left"
done_testing
