#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# submit --model resnet44 --gpus 1..4 on a real Slurm: all verbs, and one process per GPU on more
# than one node.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/classes.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
unet-train devices --json | grep -q '"mpi"\]' || skip_all 'built without MPI'
sandbox_up --nodes 2 --gpus-per-node 2

make_cifar cifar 40 10
ok "a study is made" \
    unetctl init s --data cifar --site sandbox --set model.base=2 --set train.epochs=2 \
    --set train.batch_per_gpu=5 --set train.threads=1 --set train.eval_epochs=1
exits 0 "submit --model resnet44 --gpus 1..4" unetctl submit -C s --model resnet44 --gpus 1..4 \
    --wait \
    --timeout 400
exits 0 "status works" unetctl status -C s
is "$(grep -c 'resnet44-g0[1-4]-s1 *COMPLETED .*accuracy' "$OUT")" 4 "all runs are done"
is "$(sed -n 's/.*"world_size":\([0-9]*\).*/\1/p' s/runs/resnet44-g03-s1/attempt-1/record.jsonl)" \
    3 \
    "3 GPUs have 3 ranks on 2 nodes"
exits 0 "the report is made" unetctl report -C s --text
like "$OUT" 'accuracy' "accuracy is the quality"
done_testing
