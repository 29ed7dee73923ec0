#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make compare: one study with the engines embedded, pytorch, tensorflow and horovod, on the same
# images, split and network, and one report of it. t/peers/run has put their environment first on
# PATH; an engine that is not there is left out, and told (Horovod: UNETCTL_HOROVOD=1 builds it).
#
#   COMPARE_DATA    images/ and masks/ (default: synthetic)     COMPARE_SIZE    HxW (64x64)
#   COMPARE_GPUS    counts (1,2)      COMPARE_SEEDS  (1)        COMPARE_EPOCHS  (10)
#   COMPARE_OUT     a new folder for the study (BUILD/compare)
set -eu
: "${srcdir:?}" "${builddir:?}"
export PATH=$builddir:$PATH
out=${COMPARE_OUT:-$builddir/compare} size=${COMPARE_SIZE:-64x64} data=${COMPARE_DATA:-$out/data}
python=$(command -v python3)
[ ! -e "$out/study" ] ||
    { echo "compare: $out/study is there already; remove it or set COMPARE_OUT" >&2; exit 3; }
mkdir -p "$out"
[ -n "${COMPARE_DATA:-}" ] || [ -e "$data" ] ||
    unet-train data synth --out "$data" --count 60 --size "$size" --seed 5
unetctl init "$out/study" --data "$data" --site local --name compare \
    --set "data.height=${size%x*}" \
    --set "data.width=${size#*x}" --set model.base=4 --set model.depth=3 \
    --set train.batch_per_gpu=4 \
    --set "train.epochs=${COMPARE_EPOCHS:-10}" --set train.lr=0.002 --set train.lr_scaling=none \
    --set train.lr_schedule=constant --set model.batch_norm=local
for engine in pytorch tensorflow horovod; do
    printf '%s:\n  python: %s\n  env: {OMP_NUM_THREADS: 1, TF_NUM_INTRAOP_THREADS: 1}\n' "$engine" \
        "$python"
done >>"$out/study/study.yaml"

engines=(embedded)
for pair in pytorch:torch tensorflow:tensorflow horovod:horovod.tensorflow; do
    if "$python" -c "import ${pair#*:}" 2>/dev/null; then
        engines+=("${pair%:*}")
    else
        echo "compare: without ${pair%:*}: $python cannot import ${pair#*:} (t/peers/requirements.txt)" >&2
    fi
done

failed=0
for engine in "${engines[@]}"; do
    unetctl submit -C "$out/study" --engine "$engine" --gpus "${COMPARE_GPUS:-1,2}" \
        --seeds "${COMPARE_SEEDS:-1}" --set train.threads=1 --wait || failed=1
done
unetctl report -C "$out/study" --text -o "$out/study/report"
exit $failed
