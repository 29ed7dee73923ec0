#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A shorter make demo: the real trainer on a real private Slurm, from synthetic images to a report.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"

for program in slurmctld slurmd munged srun; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip_all "$program is not installed"
done
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI: 3 GPUs need two nodes"
export DEMO_DIR=$TMP/demo DEMO_GPUS=1..3 DEMO_EPOCHS=3
study=$DEMO_DIR/study

ok "the demo" timeout 300 bash "$srcdir/t/demo.sh"
like "$OUT" "^The report: $study/report/report.html" "demo prints where the report is"
exits 4 "its sandbox is down" unetctl sandbox status --dir "$DEMO_DIR/sandbox"
like "$study/logs/results.csv" '^unet-g01-s1,embedded,1,1,1,1,done,3,64' \
    "1 GPU has 64 images in each of 3 epochs"
like "$study/logs/results.csv" '^unet-g02-s1,embedded,2,1,1,1,done,3,64' \
    "2 GPUs have 64 images in each of 3 epochs, on one node"
like "$study/logs/results.csv" '^unet-g03-s1,embedded,3,2,1,1,done,3,64' \
    "3 GPUs have 64 images in each of 3 epochs, on two nodes"
record=runs/unet-g03-s1/attempt-1/record.jsonl
like "$study/$record" '"hosts":\["node1","node1","node2"\]' "3 GPUs are 2+1"
like "$study/$record" '"comm":"mpi"' "the ranks communicate by MPI"
like "$study/runs/unet-g02-s1/attempt-1/record.jsonl" '"comm":"node"' \
    "2 GPUs of a node need no MPI launcher"
ok "the reference's file names" test -s "$study/logs/log_1.csv" -a -s "$study/logs/log_3.csv"
ok "report.html is there" test -s "$study/report/report.html"
ok "the report contains its figures" grep -q '<svg' "$study/report/report.html"
done_testing
