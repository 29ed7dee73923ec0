#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# opcheck's two other modes: the table of which backend has which op, and the speed of each. (Values
# and gradients are its checks, trainer/ops/test/opcheck.c; times are not asserted.)
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

opcheck=$builddir/trainer/ops/test/opcheck.t
[ -x "$opcheck" ] || skip_all "$opcheck is not built"
kinds=$(sed -n 's/^OP(\([a-z0-9_]*\)).*/\1/p' "$srcdir/trainer/core/ops.def" | grep -vx cast | sort)
# cast is never of floats only: where a backend needs casts they are measured with the type.

ok 'the table of ops and backends is printed' "$opcheck" --list
is "$(awk 'NR > 1 { print $1 }' "$OUT" | sort)" "$kinds" 'it has every kind of op'
is "$(awk 'NR > 1 { print $2 }' "$OUT" | sort -u)" f32 'it has the only type of the trainer'
# Column of the reference: its own kernel for every kind; any backend of the host has one from
# somewhere.
is "$(awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ref") ref = i; next } { print $ref }' "$OUT" | sort -u)" \
    ref 'the reference has its own kernel for each op'
host=$(sed -n '1s/^op *dtype//p' "$OUT" | tr ' ' '\n' | grep -cE '^(simd|ref)$')
is "$(awk -v n="$host" 'NR > 1 { for (i = 3; i < 3 + n; i++) if ($i ~ /-/) print }' "$OUT")" '' \
    'every backend of the host has a kernel for each op'

export OMP_NUM_THREADS=2
for backend in ${EXHAUSTIVE:+ref} simd; do # on a busy machine a rate may be 0.0
    ok "$backend: the speed of each op" "$opcheck" --perf "$backend" '' 0
    is "$(awk '$1 == "'"$backend"'" { print $3 }' "$OUT" | sort -u)" "$kinds" \
        "$backend: every kind of op is measured"
    is "$(awk '$1 == "'"$backend"'" && !($2 == "f32" && $5 > 0 && $6 ~ /^(-|[0-9.]+)$/ && $7 ~ /^[0-9.]+$/ && NF == 8)' "$OUT")" '' \
        "$backend: each line has time, GFLOP/s, GB/s and the backend of the kernel"
done
ok 'one kind of op is measured' "$opcheck" --perf ref max_pool2d 0
is "$(awk '$1 == "ref" { print $3 }' "$OUT" | sort -u | xargs)" 'max_pool2d max_pool2d_grad' \
    'the gradient of the op is measured as well'
ok 'ops are measured in 16 bits' "$opcheck" --perf simd concat 0 bf16
is "$(awk '$1 == "simd" { print $2, $3 }' "$OUT" | sort -u | xargs)" \
    'bf16 concat bf16 concat_grad' 'the gradients are measured in 16 bits, without casts'
emulated=$builddir/trainer/backends/cuda/test/opcheck.t
if [ -x "$emulated" ]; then
    exits 0 'one backend is checked by itself' "$emulated" --check cuda concat
    exits 77 'without a GPU this is no success' env CUDA_VISIBLE_DEVICES= "$emulated" --check cuda
    like "$ERR" '^opcheck: skipped: .*no CUDA-capable device' 'it says why'
else
    skip 'the emulated opcheck is not built' 'one backend by itself'
fi
exits 2 'an unknown backend is refused' "$opcheck" --perf nothing
like "$ERR" 'no backend "nothing"' 'the error names it'
done_testing
