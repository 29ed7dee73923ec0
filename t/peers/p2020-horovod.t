#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# engine: horovod with a real Horovod (built with MPI, without horovodrun) on a real private Slurm: the
# U-Net script that comes for TensorFlow, its gradients summed by Horovod, on one node and several.
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

cat >train_hvd.py <<'END'
# What a user of Horovod has: one process for each GPU, gradients summed over all of them.
import importlib.util, os, time
import unetctl_run
import tensorflow as tf
import horovod.tensorflow as hvd

spec = importlib.util.spec_from_file_location("reference", os.environ["REFERENCE_SCRIPT"])
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

hvd.init()
run = unetctl_run.Run()
assert (hvd.rank(), hvd.size()) == (run.rank, run.world_size), (hvd.rank(), hvd.size())
assert hvd.size() == int(os.environ["UNETCTL_GPUS"]) and hvd.local_rank() == run.local_rank
assert hvd.mpi_built() and not hvd.gloo_built()
tf.keras.utils.set_random_seed(run.seed + hvd.rank())
model = reference.make_unet(run.data["height"], run.data["width"], run.data["channels"], run.model["base"],
                            run.model["depth"], False)
hvd.broadcast_variables(model.variables, root_rank=0)
optimizer = tf.keras.optimizers.Adam()

@tf.function(reduce_retracing=True)
def step(images, masks, weight, count):
    with tf.GradientTape() as tape:
        each = tf.nn.sigmoid_cross_entropy_with_logits(masks, model(images, training=True))
        loss = tf.reduce_sum(tf.reduce_mean(each, (1, 2, 3))) * weight
        share = loss / count
    variables = model.trainable_variables
    return loss, [hvd.allreduce(g, op=hvd.Sum) for g in tape.gradient(share, variables)]

for epoch in range(run.epochs):
    begin, loss, images, steps = time.monotonic(), 0.0, 0, 0
    optimizer.learning_rate.assign(run.lr(epoch))
    for ((items, weight),), count in run.steps(epoch):
        batch = [tf.constant(b) for b in run.batch(items)]
        mine, gradients = step(*batch, tf.constant(weight), tf.constant(count, tf.float32))
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        loss += float(hvd.allreduce(mine, op=hvd.Sum))
        run.note_first_step()
        images, steps = images + count, steps + 1
    run.note_epoch(time.monotonic() - begin, loss / images, images, steps)
begin, sums = time.monotonic(), tf.zeros(3, tf.int64)
for item in run.val[run.rank :: run.world_size]:
    image, mask = run.batch([item])
    pred, truth = model(image, training=False) > 0, tf.constant(mask) > 0.5
    sums += tf.stack([tf.math.count_nonzero(p) for p in (pred & truth, pred, truth)])
run.finish(*hvd.allreduce(sums, op=hvd.Sum).numpy().tolist(), time.monotonic() - begin)
END
unet-train data synth --out data -n 24 --size 32x48 --seed 3 2>/dev/null
unetctl init study --data data --site sandbox --name engines --set data.height=32 --set data.width=48 \
    --set model.base=4 --set model.depth=2 --set model.batch_norm=none --set train.epochs=4 \
    --set train.batch_per_gpu=2 --set train.lr=0.01 --set train.lr_scaling=none 2>"$ERR" || diag <"$ERR"
cat >>study/study.yaml <<END
horovod:
  script: $PWD/train_hvd.py
  python: $(command -v python3)
  env: {OMP_NUM_THREADS: 1, REFERENCE_SCRIPT: $srcdir/templates/tensorflow/train.py}
END
exits 0 "submit --gpus 1,2,3" unetctl submit -C study --engine horovod --gpus 1,2,3 --wait --timeout 500
if states study | grep -q FAILED; then tail -n 30 study/runs/*/attempt-1/*.out | diag; fi
is "$(states study)" "horovod-g01-s1 COMPLETED
horovod-g02-s1 COMPLETED
horovod-g03-s1 COMPLETED" "one MPI world each"
like study/runs/horovod-g03-s1/attempt-1/record.jsonl '"world_size": 3' "three ranks"

mkdir one
sed 's/batch_per_gpu: 2/batch_per_gpu: 6/' study/study.yaml >one/study.yaml
cp study/split.json one
exits 0 "1 GPU with the batch of 3" unetctl submit -C one --engine horovod --gpus 1 --wait --timeout 300
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
