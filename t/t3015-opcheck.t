#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# opcheck's table of which backend has which op. (Values and gradients are its checks,
# trainer/ops/test/opcheck.c.)
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

opcheck=$builddir/trainer/ops/test/opcheck.t
[ -x "$opcheck" ] || skip_all "$opcheck is not built"
kinds=$(sed -n 's/^OP(\([a-z0-9_]*\)).*/\1/p' "$srcdir/trainer/core/ops.def" | grep -vx cast | sort)
# cast is never of floats only.

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

emulated=$builddir/trainer/backends/cuda/test/opcheck.t
if [ -x "$emulated" ]; then
    exits 0 'one backend is checked by itself' "$emulated" --check cuda concat
    exits 77 'without a GPU this is no success' env CUDA_VISIBLE_DEVICES= "$emulated" --check cuda
    like "$ERR" '^opcheck: skipped: .*no CUDA-capable device' 'it says why'
else
    skip 'the emulated opcheck is not built' 'one backend by itself'
fi
exits 2 'an unknown backend is refused' "$opcheck" --check nothing
like "$ERR" 'no backend "nothing"' 'the error names it'
done_testing
