#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# engine: horovod with a real Horovod (built with MPI, without horovodrun) on a real private Slurm:
# the U-Net script that comes for it, on one node and several.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
need_python tensorflow numpy PIL
python3 -c 'import horovod.tensorflow' 2>/dev/null ||
    skip_all "Horovod with TensorFlow is not installed (UNETCTL_HOROVOD=1 make check-peers builds it)"
sandbox_up --nodes 3 --gpus-per-node 2
[ "$(unetctl sandbox status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mode"])')" = netns ] ||
    skip_all "the nodes of this sandbox have no names of their own"

unet-train data synth --out data -n 24 --size 32x48 --seed 3 2>/dev/null
unetctl init study --data data --site sandbox --name engines --set data.scale=full --set data.height=32 \
    --set data.width=48 \
    --set model.base=4 --set model.depth=2 --set model.batch_norm=none --set train.epochs=4 \
    --set train.batch_per_gpu=2 --set train.lr=0.01 --set train.lr_scaling=none 2>"$ERR" ||
    diag <"$ERR"
cat >>study/study.yaml <<END
horovod:
  python: $(command -v python3)
  env: {OMP_NUM_THREADS: 1}
END
exits 0 "submit --gpus 1,2,3" unetctl submit -C study --engine horovod --gpus 1,2,3 \
    --wait --timeout 500
if states study | grep -q FAILED; then tail -n 30 study/runs/*/attempt-1/*.out | diag; fi
is "$(states study)" "horovod-g01-s1 COMPLETED
horovod-g02-s1 COMPLETED
horovod-g03-s1 COMPLETED" "one MPI world each"
like study/runs/horovod-g03-s1/attempt-1/record.jsonl '"world_size": 3' "three ranks"

mkdir one
sed 's/batch_per_gpu: 2/batch_per_gpu: 6/' study/study.yaml >one/study.yaml
cp study/split.json one
exits 0 "1 GPU with the batch of 3" unetctl submit -C one --engine horovod --gpus 1 \
    --wait --timeout 300
ok "has the losses of 3 GPUs" python3 - one/runs/horovod-g01-s1/attempt-1/log.csv \
    study/runs/horovod-g03-s1/attempt-1/log.csv <<'END'
import csv, sys
one, three = ([float(r["loss"]) for r in csv.DictReader(open(f))] for f in sys.argv[1:])
assert len(one) == 4 and all(abs(a - b) < 2e-4 * a for a, b in zip(one, three)), (one, three)
END
exits 0 "collect" unetctl collect -C study
exits 0 "report" unetctl report -C study --json report.json
is "$(field report.json 'sorted(e["engine"] for e in d["engines"])')" "['horovod']" "in the report"
done_testing
