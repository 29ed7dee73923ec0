#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The timeline of a run: whole JSON whenever the run is killed, and its spans follow each other.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is not installed"
train=(unet-train train --data data --size 32x32 --set model.base=4 --set model.depth=2 \
    --threads 1 --gpus 2 --batch-size 2 --set train.trace=true)
ok "synthetic data" unet-train data synth --out data --count 20 --size 64x64 --seed 2
ok "a run" "${train[@]}" --epochs 4 --set train.checkpoint_epochs=1 --out run
cat >judge.py <<'END'
import collections, json, sys
for path in sys.argv[1:]:
    rank = int(path.split("-")[-1].split(".")[0])
    events = json.load(open(path))
    head, spans = events[0], [e for e in events if e["ph"] == "X"]
    assert head["ph"] == "M" and head["args"]["name"].startswith(f"rank {rank} on "), head
    assert [e["args"]["name"].split()[0] for e in events[1:4]] == ["steps", "sums", "sums"], events[1:4]
    assert len(spans) == len(events) - 4
    end = collections.Counter()
    for s in spans:
        assert s["pid"] == rank and s["dur"] >= 0, s
        assert s["ts"] >= end[s["tid"]] - 1, (s, end)
        end[s["tid"]] = s["ts"] + s["dur"]
    steps, gradients, norms = ([s for s in spans if s["tid"] == row] for row in range(3))
    backward = [s for s in steps if s["name"] == "forward, backward"]
    def within(s):
        return any(b["ts"] - 1 <= s["ts"] < b["ts"] + b["dur"] + 1 for b in backward)
    # What was killed may end between a sum and the part of the step that it lies in.
    assert all(map(within, [n for n in norms if n["ts"] < end[0]])), norms
    print(rank, *sorted(collections.Counter(s["name"] for s in steps).items()), len(norms), "norms,",
          len(gradients), "gradients,", sum(map(within, gradients)) > 0)
END
ok "both replicas' timelines are JSON, no span begins before the last has ended" \
    eval 'python3 judge.py run/trace-0.json run/trace-1.json >spans'
for rank in 0 1; do
    like spans "^$rank .*\('forward, backward', 16\) \('images', 16\) \('update', 16\) \('validate', 1\) \('wait for sums', 16\)" \
        "replica $rank: each of 16 steps has its four parts"
done
like spans "^0 \('checkpoint', 5\)" "checkpoints, the last state's too"
# base 4, depth 2: 5 blocks of 2 batch norms, each with a sum forward and one backward.
is "$(grep -c ' 320 norms, 0 gradients' spans)" 2 \
    "batch norm's sums lie in the steps, 20 in each of 16"
if command -v mpirun >/dev/null && unet-train devices --json | grep -q '"mpi"\]'; then
    ok "its split" unet-train data split --data data --out split.json
    write_run run.json 2 0.001 60
    sed -i 's/"nodes":1/"nodes":2/; s/"tasks_per_node":2/"tasks_per_node":1/; s/"epochs":2,/"epochs":4,"trace":true,/
        s/"batch_per_gpu":4/"batch_per_gpu":2/; s/"batch_norm":"local"/"batch_norm":"sync"/' run.json
    workers="\"localhost:$((20000 + $$ % 10000))\",\"localhost:1\""
    # shellcheck disable=SC2016 # of the ranks
    ok "two ranks like two nodes" timeout 120 mpirun -x UNET_SHARED_MEMORY=off -np 2 bash -c '
        TF_CONFIG="{\"cluster\":{\"worker\":[$0]},\"task\":{\"type\":\"worker\",\"index\":$OMPI_COMM_WORLD_RANK}}" \
            exec unet-train train --run run.json --out nodes' "$workers"
    ok "their timelines" eval 'python3 judge.py nodes/trace-0.json nodes/trace-1.json >spans'
    is "$(grep -c ' 320 norms, [1-9][0-9]* gradients, ' spans)" 2 "a thread sums the gradients"
else
    skip "no MPI" "gradients that a thread sums"
fi

for i in 1 2 3 4 5 6; do
    "${train[@]}" --epochs 100000 --out "killed$i" >"$OUT" 2>"$ERR" &
    run=$!
    wait_until 30 grep -q '"kind":"epoch","epoch":1' "killed$i/record.jsonl"
    sleep "0.$((i * 137 % 1000))"
    kill -KILL $run
    wait $run 2>"$OUT"
done
ok "runs that were killed leave whole JSON" python3 judge.py killed?/trace-?.json
done_testing
