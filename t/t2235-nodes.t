#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nodes and daemons of a real Slurm fail while ranks train on two nodes: a node is drained, slurmd
# is killed and started again, slurmctld is restarted. The run continues to its end. A rank that is
# stopped is named with its host, on whichever node it is. t2230 has nodes that are given up.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
unet-train devices --json | grep -q '"mpi"\]' || skip_all "unet-train was built without MPI"
sandbox_up --nodes 6 --gpus-per-node 2

unet-train data synth --out data --count 40 --size 64x64 --seed 2 2>"$ERR"
make_training() { # STUDY EPOCHS TIMEOUT_S
    mkdir "$1"
    grep -v '^licenses:' "$srcdir/templates/sites/sandbox.yaml" >"$1/site.yaml" # all at once
    unetctl init "$1" --data data --name "$1" --site "$1/site.yaml" --set data.height=64 \
        --set data.width=64 \
        --set model.base=4 --set model.depth=2 --set train.epochs="$2" --set train.batch_per_gpu=4 \
        --set train.threads=1 --set train.checkpoint_s=0.3 --set train.timeout_s="$3" 2>"$ERR"
}
run() { echo "$1/runs/unet-g04-s1"; }
job() { cat "$(run "$1")/attempt-1/job"; }
begun() { [ -n \
    "$(find "$(run "$1")/attempt-1/checkpoint" -name 'state-*.safetensors' 2>/dev/null)" ]; }
weights() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' \
    "$(run "$1")/attempt-${2:-1}/DONE"; }
node_of() { login scontrol -o show job "$(job "$1")" | sed 's/.*BatchHost=\([^ ]*\).*/\1/'; }
rank_of() { # STUDY RANK: its process
    local p
    for p in $(sandbox_pgrep "$TMP/$(run "$1")" -x unet-train); do
        if login grep -qsz "^TF_CONFIG=.*\"index\":$2}" "/proc/$p/environ"; then echo "$p"; fi
    done
}

ok "a study that is not disturbed is made" make_training calm 300 300
ok "a study whose nodes and daemons are disturbed is made" make_training rough 300 300
ok "a study with a stopped rank is made" make_training stuck 100000 6
for s in rough stuck; do exits 0 "$s: four ranks on two nodes" unetctl submit -C $s --gpus 4; done
# One is stopped at its first checkpoint, so that it cannot end before it is disturbed.
held=()
hold() {
    begun rough || return 1
    mapfile -t held < <(sandbox_pgrep "$TMP/$(run rough)" -x unet-train)
    login kill -STOP "${held[@]}"
}
ok "one writes checkpoints" wait_until 120 hold
ok "the other, too" wait_until 120 begun stuck

# ---- rank 0 of one of them, which can't mark its run as failed
victim=$(rank_of stuck 0)
where=$(login cat "/proc/$victim/environ" | tr '\0' '\n' | sed -n 's/^SLURMD_NODENAME=//p')
ok "rank 0 is found on $where" test -n "$victim" -a "$where" = "$(node_of stuck)"
ok "it is stopped" login kill -STOP "$victim"
failed() { states stuck | grep -q 'g04-s1 FAILED'; }
ok "its run ends" wait_until 90 failed
stopped="\\((the program [^:]*: )?rank 0 on $where: no answer"
named() { unetctl status -C stuck | grep -Eq "$stopped"; }
wait_until 30 named
unetctl status -C stuck >stuck.out
like stuck.out "$stopped" \
    "status names the stopped rank and its host, not the ranks that wait for it"
ok "the checkpoint is kept" begun stuck
no_rank() { [ -z "$(for r in 0 1 2 3; do rank_of stuck "$r"; done)" ]; }
ok "no rank is left" wait_until 60 no_rank

# ---- the daemons and the node of the other one
node=$(node_of rough)
ok "a node is drained" login scontrol update nodename="$node" state=drain reason=test
pidfile=$XDG_STATE_HOME/unetctl/sandbox/run/slurmd.$node.pid
before=$(cat "$pidfile")
ok "its slurmd is killed" login kill -KILL "$before"
ok "the controller is stopped" sandbox_stop_controller
ok "the controller is started" login slurmctld -i
answers() { login scontrol ping 2>/dev/null | grep -q UP; }
ok "it answers" wait_until 30 answers
ok "the slurmd is started" login slurmd -N "$node"
login kill -CONT "${held[@]}"

# ---- the failed run is resumed on half of the nodes
exits 0 "the run is resumed with two GPUs" unetctl resume -C stuck --gpus 2 unet-g04-s1
resized() { grep \
    -q '"kind":"resume".*"gpus":4,"global_batch":16},{.*"gpus":2,"global_batch":16}\]' \
    "$(run stuck)/attempt-2/record.jsonl"; }
ok "the record has the new number" wait_until 90 resized
is "$(login scontrol -o show job "$(cat "$(run stuck)/attempt-2/job")" | sed 's/.* NumNodes=\([0-9]*\).*/\1/')" 1 \
    "the job of the next attempt has one node"
exits 0 "the run is cancelled" unetctl cancel --yes -C stuck

# ---- the other run ends as it would have without the faults
exits 0 "the undisturbed run is submitted" unetctl submit -C calm --gpus 4
done_all() { all_states rough COMPLETED && all_states calm COMPLETED; }
ok "both are done" wait_until 150 done_all
is "$(weights rough)" "$(weights calm)" "their weights are equal"
is "$(find "$(run rough)" -name 'restart-*')" "" "the disturbed run was not started again"
is "$(sandbox_pgrep "$TMP" -x unet-train)" "" "no process is left"
done_testing
