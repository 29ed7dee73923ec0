#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The MPI communicator between real processes: every collective with 2, 3 and 4 ranks, a rank that
# fails, a rank that hangs, ranks that never meet.
# shellcheck source=t/lib.sh
. "${srcdir:?}/t/lib.sh"

command -v mpirun >/dev/null || skip_all "mpirun is not installed"
check=$builddir/trainer/comm/test/comm_mpi.t
"$check" 2>&1 | grep -q 'built without MPI' && skip_all "built without MPI"

for n in 2 3 4; do
    ok "all collectives, $n ranks" timeout 120 mpirun -np $n "$check"
    like "$OUT" "^ok 1 - mpi: all collectives, $n ranks" "rank 0 of $n saw exact results"
    ok "all collectives with a communication thread, $n ranks" timeout 120 mpirun -np $n "$check" \
        async
    like "$OUT" "^ok 1 - mpi: all collectives, $n ranks" "rank 0 of $n saw exact results"
done
ok "3 ranks without shared memory agree" timeout 120 mpirun -x UNET_SHARED_MEMORY=off -np 3 "$check"
like "$OUT" "^ok 1 " "exact results"
exits 7 "a rank that fails while its thread waits for a sum ends the run" \
    timeout 120 mpirun -np 3 "$check" async-fail
like "$OUT" 'rank 1 on .*: image 7 is broken' "rank 0 receives the error"

exits 7 "a rank that fails takes the run down with its exit code" \
    timeout 120 mpirun -np 3 "$check" fail
like "$ERR" 'error: image 7 is broken' "its error is printed"
is "$(grep -c 'error: .*image 7' "$ERR")" 1 "it is printed once"
like "$OUT" 'rank 1 on .*: image 7 is broken' "rank 0 receives the error and the rank"

exits 5 "a rank that hangs ends the others" timeout 120 mpirun -np 3 "$check" hang
like "$OUT" 'rank 1 on .*: alive, but slow or stuck: it has not reached collective [0-9]+' \
    "the error names the rank"

# Rank 1 never calls MPI_Init.
# shellcheck disable=SC2016
exits 5 "MPI that does not come up ends with a message" \
    timeout 120 mpirun -np 2 bash -c '
        if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec sleep 100; fi
        exec "$0" init' "$check"
like "$ERR" 'MPI did not come up within 2 s' "the error says so"
done_testing
