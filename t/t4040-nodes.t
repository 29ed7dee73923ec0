#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The MPI communicator on the nodes of a real Slurm, where ranks of one node sum in memory that they
# share and nodes sum by MPI: equal, unequal and interleaved layouts.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"

check=$builddir/trainer/comm/test/comm_mpi.t
[ -x "$check" ] || skip_all "the unit tests are not built (make check-build)"
"$check" 2>&1 | grep -q 'built without MPI' && skip_all "built without MPI"
sandbox_up --nodes 3 --gpus-per-node 2
login srun --mpi=list 2>&1 | grep -q pmix || skip_all "this Slurm has no PMIx"

all() { # RANKS TEXT OPTIONS
    local n=$1 text=$2
    shift 2
    ok "$text" login srun --immediate=60 --mpi=pmix -n "$n" "$@" "$check"
    like "$OUT" "^ok 1 - mpi: all collectives, $n ranks" "the sums are exact"
    ok "$text, with a communication thread" login srun --immediate=60 --mpi=pmix -n "$n" "$@" \
        "$check" async
    like "$OUT" "^ok 1 - mpi: all collectives, $n ranks" "the sums are exact"
    ok "$text, slices fused" login srun --immediate=60 --mpi=pmix -n "$n" "$@" "$check" fused
    like "$OUT" "^ok 1 - mpi: all collectives, $n ranks" "the sums are exact"
    ok "$text, gradients as 16 bits between nodes" login srun --immediate=60 --mpi=pmix -n "$n" \
        "$@" "$check" bf16
    like "$OUT" "^ok 1 " "the sums in 16 bits are within the error bound"
}
all 4 "2 + 2 ranks" -N2 --ntasks-per-node=2
all 5 "5 ranks in rows of 2 on 3 nodes" -N3 -m plane=2
all 5 "5 ranks dealt to 3 nodes" -N3 -m cyclic
all 3 "a rank on each of 3 nodes" -N3 --ntasks-per-node=1
done_testing
