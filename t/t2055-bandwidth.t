#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# doctor --bandwidth measures between the ranks of a job, keeps the times for report --predict, and
# names the rank that is slow, lost or missing.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

bandwidth() { unetctl doctor --bandwidth "$@"; } # OPTIONS
measured() { grep -q '"links":\[\[' "$1"; }

# ---- without Slurm
ok "images are made" unet-train data synth --out synth --count 12 --size 32x48
init=(unetctl init --data synth -s data.height=32 -s data.width=48)
"${init[@]}" here --site local 2>/dev/null
exits 2 "the number of GPUs is needed" bandwidth -C here
exits 2 "one GPU has no link" bandwidth -C here --gpus 1
like "$ERR" 'doctor: --bandwidth measures between GPUs: give --gpus 2 or more' "the error says so"
exits 0 "two ranks that share memory are measured" bandwidth -C here --gpus 2
like "$OUT" '^ok +bandwidth +2 ranks by node: an all-reduce of [0-9]+ MiB takes [0-9.e+]+ ms' \
    "the sum's time is printed"
is "$(field here/bandwidth.json \
    '[s["bytes"] for s in d["sizes"]][:4], d["hosts"] == 2 * [d["hosts"][0]]')" \
    "([1024, 16384, 262144, 4194304], True)" "the study keeps times from 1 KiB on"
ok "the rehearsal leaves nothing" test -z "$(ls -A here/.unetctl/doctor)"
ok "a program's study is made" unetctl init any --site local -- true
exits 0 "the study of a program is measured" bandwidth -C any --gpus 2
like "$ERR" 'engine command: the links are measured by unet-train, with NCCL between GPUs and MPI' \
    "it says what is measured instead"

# ---- prediction
facts=(--gpus-per-node 2 --predict 4)
exits 0 "a run on 1 GPU is made" unetctl submit -C here --gpus 1 --wait -s train.epochs=2
exits 0 "it is used with the links that were measured" unetctl report -C here --gpus-per-node 2 \
    --predict 2
like <(tr '\n' ' ' <"$OUT") 'connected by measured \(by unetctl doctor --bandwidth: .* us\) within it\. ' \
    "those within the node"
exits 8 "none is assumed between nodes" unetctl report -C here "${facts[@]}"
like "$ERR" 'do not state the links, which a prediction needs: --links ' "the error says what to type"
exits 0 "--links replaces them" unetctl report -C here "${facts[@]}" --links 10:100,1:1000
unlike "$OUT" 'measured \(by' "given links apply"
echo '{"schema":1}' >here/bandwidth.json
broken here/bandwidth.json
exits 7 "a damaged file is refused" unetctl report -C here "${facts[@]}"
like "$ERR" "bandwidth.json: it is damaged; 'unetctl doctor --bandwidth" "the error says what to do"

# ---- ranks on nodes
sandbox_up --nodes 3 --gpus-per-node 2
login srun --mpi=list 2>&1 | grep -q '\<pmix$' || { skip "this Slurm has no PMIx" "ranks on nodes"; done_testing; exit; }
"${init[@]}" one --site sandbox -s train.timeout_s=8 2>/dev/null
exits 0 "5 ranks on 3 nodes are measured" bandwidth -C one --gpus 5
like "$OUT" '^ok +bandwidth +5 ranks by mpi: .*; ranks of the same node exchange .* us; ranks of different nodes exchange' \
    "both kinds of links are printed"
is "$(field one/bandwidth.json 'd["hosts"], [len(s["links"]) for s in d["sizes"][:3]]')" \
    "(['node1', 'node1', 'node2', 'node2', 'node3'], [10, 10, 10])" "all pairs are measured"
exits 0 "so are 3 ranks in an allocation" login salloc -Q -N2 -n3 --gpus-per-task=1 \
    unetctl doctor -C one --bandwidth --in-allocation
like "$OUT" '^ok +bandwidth +3 ranks by mpi' "of which it has the number"

# A trainer whose rank $1 does something else first.
trainer() { # RANK COMMANDS
    # shellcheck disable=SC2016 # expanded there
    printf '#!/bin/bash\nif [ "$SLURM_PROCID" = %s ]; then\n%s\nfi\nexec unet-train "$@"\n' "$@" >trainer.sh
    chmod +x trainer.sh
    grep -v '^trainer:' one/site.yaml >site && { cat site; echo "trainer: $TMP/trainer.sh"; } >one/site.yaml
}
cp "$srcdir/templates/sites/sandbox.yaml" one/site.yaml && sed -i 's,^site: .*,site: ./site.yaml,' one/study.yaml
mode=$(sed -n 's/^mode=//p' "$XDG_STATE_HOME/unetctl/sandbox/sandbox.conf")
limit=(tc qdisc add dev eth0 root tbf rate 200mbit burst 64kb latency 400ms)
if [ "$mode" = netns ] && unetctl sandbox exec --node 2 -- "${limit[@]}" 2>"$ERR"; then
    exits 0 "a slow node is a warning" bandwidth -C one --gpus 5
    like "$OUT" '^warning +bandwidth +node node2 is slow: .* GB/s to ranks of different nodes, and the median of its peers is' \
        "the node whose network card is slow is named"
    unlike "$OUT" '^warning +bandwidth +(rank|node node[13])' "and no other"
    like "$OUT" 'leave the node out \(-- --exclude=node2\)' "with a remedy"
    like one/.unetctl/bad-nodes '^[0-9]+ node2 slow .doctor --bandwidth' "and a note of the node"
    unetctl sandbox exec --node 2 -- tc qdisc del dev eth0 root
else
    skip "mode $mode: $(head -n 1 "$ERR")" "a slow node"
fi
cp one/bandwidth.json before.json

trainer 2 '(sleep 1.5; kill -KILL $$) &'
exits 5 "a rank that dies is an error" bandwidth -C one --gpus 5
# Slurm 24.11 and newer may kill rank 0 before it can say so.
lost='rank 2.* node2|Slurm aborted the step of the ranks'
like "$OUT" "^error +bandwidth +nothing was measured: .*($lost)" \
    "the rank is named, or that one was lost"
trainer 1 'exec sleep 100'
exits 5 "a rank that does not come is an error" bandwidth -C one --gpus 5
like "$OUT" '^error +bandwidth +nothing was measured: .*rank 1 \(node1\) did not connect' "the rank is named"
trainer 0 'exec sleep 100'
exits 6 "a time limit" bandwidth -C one --gpus 3 --timeout 2
no_jobs() { [ -z "$(login squeue -h -o %i)" ]; }
ok "the job is cancelled" wait_until 30 no_jobs
ok "failures leave the earlier times" cmp one/bandwidth.json before.json
done_testing
