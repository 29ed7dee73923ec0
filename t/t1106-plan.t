#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What plan knows before anything is spent: GPU-hours and their limit, bytes on disk, warnings.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

ok "images" unet-train data synth --out synth --count 20 --size 32x48
exits 0 "a study" unetctl init one --data synth --set train.batch_per_gpu=4 --set train.epochs=3 \
    --set model.base=4 --set model.depth=2
exits 0 "plan" unetctl plan -C one --gpus 1..8
like "$OUT" '8 runs on site generic .*at most 144.0 GPU-hours at 4:00 h each, [0-9.]+ MiB on disk' "says what it costs"
like "$OUT" 'about 16 training and 4 validation images' "and what it trains on"
like "$ERR" 'warning: 16 training images are no multiple of the global batch \(4 x GPUs\) on 3 GPUs' \
    "counts that do not divide the images"
like "$ERR" 'warning: 16 training images fill no global batch .* on 5, 6, 7, 8 GPUs' "counts that they do not fill"
like "$ERR" 'warning: .*fewer validation images \(4\) than ranks on 5, 6, 7, 8 GPUs' "and more ranks than those"
constant=(--set train.batch_per_gpu=0 --set train.global_batch=4)
exits 0 "a constant global batch" unetctl plan -C one --gpus 1,2,3 "${constant[@]}"
unlike "$ERR" 'training images' "divides the images on any number of GPUs"
exits 0 "on more GPUs than images" unetctl plan -C one --gpus 4,8 "${constant[@]}"
like "$ERR" 'steps of fewer images than GPUs on 8 GPUs: some GPUs idle' "some idle"
exits 0 "an engine that takes equal shares" unetctl plan -C one --gpus 3 --engine pytorch "${constant[@]}"
like "$ERR" 'no multiple of the global batch \(4 x GPUs\) on 3 GPUs' "has the batch on each GPU"
exits 0 "with drop" unetctl plan -C one --gpus 5 --set data.remainder=drop
like "$ERR" 'nothing would be trained' "nothing is left"
exits 0 "where all divides" unetctl plan -C one --gpus 1 --set train.batch_per_gpu=16
unlike "$ERR" 'warning' "all is well where it divides"
sed '/^time:/d' "$srcdir/templates/sites/generic.yaml" >unlimited.yaml
exits 0 "without a time limit" unetctl plan -C one --gpus 1 --site ./unlimited.yaml
like "$ERR" 'warning: no time limit' "is a warning"
exits 3 "and no plan can be held to a budget" unetctl plan -C one --gpus 1 --site ./unlimited.yaml --max-gpu-hours 1
like "$ERR" 'no time limit.*--time' "with its remedy"

exits 0 "a time limit that signal_s uses up" unetctl plan -C one --gpus 1 -- --time=2
like "$ERR" 'warning: the time limit \(2 min\) is not longer than slurm.signal_s \(120 s\)' "is a warning"
exits 0 "of an engine that does not resume" unetctl plan -C one --gpus 1 --engine pytorch -- --time=2
unlike "$ERR" 'signal_s' "it is none"

exits 0 "within the budget" unetctl plan -C one --gpus 1..4 --max-gpu-hours 40
exits 3 "above the budget" unetctl plan -C one --gpus 1..4 --max-gpu-hours 30
like "$OUT" 'unet-g04-s1' "the plan is shown all the same"
like "$ERR" '40.0 GPU-hours.* 10.0 more than --max-gpu-hours 30; --gpus 1..3 \(24.0\) would fit' "what would fit"
exits 0 "sbatch's words count" unetctl plan -C one --gpus 1..4 --max-gpu-hours 30 -- --time=3:00:00
exits 3 "submit is held to it, too" unetctl submit -C one --gpus 1..4 --max-gpu-hours 30 --scheduler dry
like "$ERR" 'error: nothing was submitted' "before anything is done"
ok "nothing was written" test ! -e one/runs -a ! -e one/split.json
exits 3 "or from the environment" env UNETCTL_MAX_GPU_HOURS=30 unetctl submit -C one --gpus 1..4 --scheduler dry

exits 0 "plan --json" unetctl plan -C one --gpus 8 --json
cp "$OUT" plan.json
ok "stdout is JSON and nothing else" python3 -m json.tool plan.json
is "$(field plan.json 'd["train_images"], d["val_images"], len(d["warnings"]), d["runs"][0]["gpu_hours"]')" \
    "(16, 4, 2, 32.0)" "with the warnings"

{ cat "$srcdir/templates/sites/generic.yaml"; echo "trainer: $TMP/away/unet-train"; } >away.yaml
exits 0 "a trainer that is not here" unetctl plan -C one --gpus 1 --site ./away.yaml
like "$ERR" 'warning: .*away.yaml: trainer: .*/away/unet-train: No such file or directory; unless the nodes' "is a warning"

# The bytes are an upper bound, and no wild one.
exits 0 "a real run" unetctl submit -C one --gpus 1 --scheduler local --wait --timeout 120
bytes=$(du -s --apparent-size -B1 one/runs/unet-g01-s1 | cut -f1)
blocks=$(du -s -B1 one/runs/unet-g01-s1 | cut -f1)
exits 0 "plan after the split" unetctl plan -C one --gpus 1 --json --set slurm.time=1
is "$(field "$OUT" "$blocks <= d['disk_bytes'] + 4096 <= 16 * $bytes + 65536")" True "the bytes of a real run ($bytes, $blocks)"
exits 0 "decoded images that do not stay in memory" unetctl plan -C one --gpus 1 --set data.cache="$TMP/cache"
like "$OUT" ' MiB on disk and 0.2 MiB of decoded images' "are counted"
unetctl plan -C one --gpus 1 --json --set slurm.time=1 >"$OUT" 2>"$ERR"
is "$(field "$OUT" 'd["parameters"]')" "$(grep -o '"parameters":[0-9]*' one/runs/*/attempt-1/record.jsonl | cut -d: -f2)" \
    "parameters as the trainer counts them"
done_testing
