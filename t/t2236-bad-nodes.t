#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nodes that end runs are noted, listed by doctor, and left out of later jobs after two notes; a run
# that is done there clears them. t4030 has the note of a lost rank.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 4 --gpus-per-node 2
make_step_study study sandbox
sed -i '/^licenses:/d' study/site.yaml
cd study || exit 255
echo hang >behave
hangs() { grep -qs 'trainer: hang' "runs/unet-g0$1-s1/attempt-$2"/slurm-*.out; } # GPUS ATTEMPT
shows() { unetctl status 2>/dev/null | grep -Eq "^unet-g0$1-s1 +$2"; }          # GPUS STATE
of_job() { # RUN KEY: of its newest job
    login scontrol -o show job "$(login squeue -h -t all -n "demo-$1" -o %i | sort -n | tail -n 1)" |
        sed "s/.* $2=\([^ ]*\).*/\1/"
}
excluded() { of_job "$1" ExcNodeList; }
fails() { # NODE GPUS ATTEMPT: the node goes down under the run
    ok "attempt $3 on $2 GPUs is running" wait_until 60 hangs "$2" "$3"
    login scontrol update nodename="$1" state=down reason=test
    ok "its node $1 fails" wait_until 100 shows "$2" NODE_FAIL
    login scontrol update nodename="$1" state=resume 2>"$ERR" # unless it came back by itself
}
idle() { [ "$(login sinfo -h -t idle -o %D)" = 4 ]; }

exits 0 "4 GPUs on 2 nodes" unetctl submit --gpus 4 -- --no-requeue --nodelist='node[1-2]'
fails node2 4 1
ok "all nodes are back" wait_until 60 idle
exits 0 "it is resumed" unetctl resume -- --no-requeue
unlike "$ERR" 'left out' "a single note leaves no node out"
like runs/unet-g04-s1/attempt-1/bad-nodes '^[0-9]+ node2 Slurm: node failure$' \
    "the attempt notes the second node"
fails node2 4 2
ok "all nodes are back" wait_until 60 idle
exits 0 "it is resumed again" unetctl resume -- --no-requeue
like "$ERR" "nodes left out: node2 \(2 notes, the last: unet-g04-s1: Slurm: node failure\); 'unetctl doctor' lists them" \
    "one line says which node is left out"
exits 5 "doctor finds that this study has no images" unetctl doctor
like "$OUT" '^warning +nodes +node2: 2 notes, the last: unet-g04-s1: Slurm: node failure; jobs leave it out' \
    "it lists the node with two notes"
is "$(excluded unet-g04-s1)" node2 "its job excludes it"
ok "it runs elsewhere" wait_until 60 hangs 4 3
exits 0 "with 0 nothing is left out" unetctl submit --gpus 1 -s slurm.exclude_after=0 -- --hold
is "$(excluded unet-g01-s1)" '(null)' "its job may run anywhere"
exits 0 "an exclusion by the user stays" unetctl submit --gpus 2 -- --hold --exclude=node4
is "$(excluded unet-g02-s1)" 'node[2,4]' "its job excludes both"
exits 2 "a number below 0 is refused" unetctl submit --gpus 1 -s slurm.exclude_after=-1
exits 0 "all are cancelled" unetctl cancel --yes
ok "all nodes are idle" wait_until 60 idle

# ---- the node of the script itself, which can note nothing
exits 0 "3 GPUs" unetctl submit --gpus 3 -- --no-requeue --nodelist='node[3-4]'
ok "it is running" wait_until 60 hangs 3 1
slurmd=$(cat "$XDG_STATE_HOME/unetctl/sandbox/run/slurmd.node3.pid")
login kill -STOP "$slurmd"
for p in $(sandbox_pgrep "$TMP/study/runs/unet-g03-s1" -f submit_file.sh); do login kill -KILL "$p"; done
login scontrol update nodename=node3 state=down reason=test
ok "it ends by NODE_FAIL" wait_until 100 shows 3 NODE_FAIL
login kill -CONT "$slurmd"
login scontrol update nodename=node3 state=resume 2>"$ERR"
ok "all nodes are back" wait_until 60 idle

# ---- a healthy run
echo good >behave
exits 0 "it is resumed" unetctl resume unet-g03-s1
like runs/unet-g03-s1/attempt-1/bad-nodes \
    '^[0-9]+ node3 Slurm: (node failure|failure of this or another node of the job)$' \
    "resume noted it, or the first node"
exits 0 "another run is resumed on the bad node" unetctl resume unet-g01-s1 -- --nodelist=node2
done_1() { shows 1 COMPLETED && shows 3 COMPLETED; }
ok "both are done" wait_until 60 done_1
{ echo nonsense; echo '1 ../x y'; echo "99999999999 node4 slow"; } >>.unetctl/bad-nodes
exits 5 "doctor finds that this study has no images" unetctl doctor
unlike "$OUT" '^[a-z]+ +nodes +(node2|\.\.)' "the node has no notes, nor has a damaged line"
like "$OUT" '^ok +nodes +node4: 1 note, the last: slow$' "a slow node has one"
exits 0 "nothing is left out" unetctl submit --gpus 5 -- --hold
unlike "$ERR" 'left out' "of later jobs"
exits 0 "all are cancelled" unetctl cancel --yes

# ---- in one job of several runs
ok "all nodes are idle" wait_until 60 idle
cd ..
mkdir nvml && ${CC:-cc} -I"$builddir" -shared -fPIC -w -o nvml/libnvidia-ml.so.1 "$srcdir/t/nvml.c"
make_step_study packed sandbox -s slurm.exclude_after=1
cp packed/site.yaml healthy.yaml
sed -i "s|^env:|&\n  UNET_GPUS: auto\n  LD_LIBRARY_PATH: $TMP/nvml\n  NVML_XID: 0.3|" packed/site.yaml
cd packed || exit 255
echo hang >behave
exits 0 "two runs" unetctl submit --gpus 1,3 --one-allocation -- --nodelist='node[1-2]'
# Of node2 the runs have a GPU each, and the one whose GPU it is notes it.
noted() {
    [ "$(cat runs/unet-g0{1,3}-s1/attempt-1/bad-nodes 2>/dev/null |
        sed 's/^[0-9]* \(node[12]\) XID 79 of GPU-.*/\1/' | sort -u | paste -sd' ')" = "node1 node2" ]
}
ok "an XID of the hardware is noted by the runs for their nodes" wait_until 180 noted
exits 0 "all are cancelled" unetctl cancel --yes
ok "they end" wait_until 240 shows 1 CANCELLED # Slurm may complete an allocation for minutes
cp ../healthy.yaml site.yaml
rm behave
exits 0 "a run is resumed in one job" unetctl resume unet-g01-s1 --one-allocation --wait
like "$ERR" 'nodes left out: node1 \(1 note.*node2 \(1 note' "which leaves both nodes out"
unlike runs/unet-g01-s1/attempt-2/step-nodes 'node[12]$' "and ran elsewhere"
exits 0 "another on one of them" unetctl submit --gpus 2 --one-allocation --wait -- --nodelist=node1
unetctl doctor >"$OUT" 2>/dev/null
like "$OUT" '^[a-z]+ +nodes +node2: 1 note' "the other node keeps its note"
unlike "$OUT" 'nodes +node1' "and a run that is done clears that of its own"

# ---- the same nodes for all repeats
ok "all nodes are idle" wait_until 60 idle
cd ..
make_step_study same sandbox -s slurm.same_nodes=true
cd same || exit 255
nodes() { of_job "$1" ReqNodeList; }
exits 0 "a run on 3 GPUs is submitted" unetctl submit --gpus 3 -- --hold
like "$ERR" 'slurm.same_nodes: runs on 3 GPUs use node\[1-2\]' "its nodes are named"
login scontrol update nodename=node1 state=drain reason=test
exits 0 "so are repeats, while Slurm would choose others" unetctl submit --gpus 3,4 --seeds 2 -- --hold
is "$(nodes unet-g03-s1) $(nodes unet-g03-s2) $(nodes unet-g04-s2)" 'node[1-2] node[1-2] node[2-3]' \
    "they are on the nodes of the first; those of another number on theirs"
exits 0 "a node is left out" unetctl submit --gpus 3 --seeds 3 -- --hold --exclude=node2
is "$(nodes unet-g03-s3)" 'node[3-4]' "other nodes are chosen"
done_testing
