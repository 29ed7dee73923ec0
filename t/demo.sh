#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make demo: a real scaling study, from synthetic images to a report. Starts a private Slurm of
# 7 nodes with 2 GPUs each (fake ones; the embedded trainer computes on the CPU) and submits the
# same training on 1, 2, 3 and 4 GPUs to it. Everything lies under demo/. DEMO_DIR, DEMO_GPUS and
# DEMO_EPOCHS change that.
set -eu
: "${builddir:?}"
PATH=$builddir:$PATH
demo=${DEMO_DIR:-$builddir/demo}
study=$demo/study
gpus=${DEMO_GPUS:-1..4}
epochs=${DEMO_EPOCHS:-30}

say() { printf '\n\033[1m$ %s\033[0m\n' "$*" >&2; }
run() {
    say "$@"
    "$@"
}

rm -rf "${demo:?}/data" "$study"
mkdir -p "$demo"
cleanup() { [ "$site" = local ] || unetctl sandbox down --dir "$demo/sandbox" >/dev/null 2>&1 ||
    true; }

run unet-train data synth --out "$demo/data" --count 80 --size 96x128 --seed 1

site=sandbox
trap cleanup EXIT
trap 'exit 130' INT TERM
without= # what the sandbox would need and this machine or build has not
if ! unet-train devices --json | grep -q '"mpi"\]'; then
    without="MPI was not there when this was built"
elif say unetctl sandbox up --nodes 7 --gpus-per-node 2 --dir "$demo/sandbox" &&
    ! unetctl sandbox up --nodes 7 --gpus-per-node 2 --dir "$demo/sandbox"; then
    without="see above"
fi
if [ -n "$without" ]; then
    echo "demo: no private Slurm here ($without): the same study with --scheduler local" >&2
    site=local
fi
export UNETCTL_SANDBOX="$demo/sandbox"

run unetctl init "$study" --name demo --data "$demo/data" --site "$site" \
    --set data.height=96 --set data.width=128 --set "train.epochs=$epochs" \
    --set train.batch_per_gpu=4 \
    --set model.batch_norm=local
cd "$study"
if [ "$site" = sandbox ]; then
    run unetctl plan --gpus "$gpus"
    run unetctl submit --gpus "$gpus" --wait
else
    run unetctl plan --gpus "$gpus" --scheduler local
    run unetctl submit --gpus "$gpus" --scheduler local --wait
fi
run unetctl collect
run unetctl report
unetctl report --text

echo
echo "The report: $study/report/report.html"
