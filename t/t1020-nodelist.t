#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl nodelist: its own grammar, and agreement with scontrol where both accept a list.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

expand() { unetctl nodelist expand "$@"; }
compress() { unetctl nodelist compress "$@"; }
words() { tr '\n' ' '; }

is "$(expand 'node[1-3,5],gpu[008-010]-ib' | words)" \
    'node1 node2 node3 node5 gpu008-ib gpu009-ib gpu010-ib ' 'brackets, padding, text after a bracket'
is "$(expand n1 'n[2-3]' n1 | words)" 'n1 n2 n3 n1 ' 'several operands are one list, duplicates kept'
is "$(compress node1 node2 node3 node5)" 'node[1-3,5]' 'compress'
is "$(compress 'node[1-100]' | xargs "$builddir/unetctl" nodelist expand | wc -l)" 100 'there and back'
is "$(expand 'n[1-100000]' | tail -n 1)" n100000 'a long list'

while IFS='|' read -r list reason; do
    exits 2 "refused: $list" unetctl nodelist expand "$list"
    like "$ERR" "$reason" "... $reason"
    ok '... nothing on stdout' test ! -s "$OUT"
done <<'EOF'
|empty
n[1-|the range has no end
node[1-2|not closed
n[3-1]|position 3.*smaller number first
n[]|position 3
n]1|not opened
n1;n2|position 3
(null)|position 1
n[1-999999999]|too many nodes
n[1-9999][1-9999][1-9999]|too many nodes
EOF
exits 2 'an unknown action' unetctl nodelist expnd n1
like "$ERR" "did you mean 'expand'" '... with the nearest'
exits 2 'no list' unetctl nodelist expand
exits 1 'a full disk is told' sh -c 'exec unetctl nodelist expand n1 >/dev/full'

# scontrol reads a configuration before anything else; it needs no running Slurm.
if command -v scontrol >/dev/null; then
    export SLURM_CONF=$TMP/slurm.conf
    printf '%s\n' ClusterName=t SlurmctldHost=localhost NodeName=localhost 'PartitionName=p Nodes=localhost' \
        >"$SLURM_CONF"
    for list in 'n1' 'n[1,3]' 'n[0001-0003],m5,o[009-011]' 'a[1-2]b[3-4]' 'n[001-003,7]' 'n[9-11]' \
        'n1,n1,n2' 'n[3,1,2]' ' n1 , n2 ' 'n1 n2' 'n1,,n2' '[1-3]' '1-3' 'n[0001-2]' 'n[1-3]-ib[0-1]' \
        'n[1-2][3-4]' 'n[1-2]3[4-5]' 'n[18446744073709551615]' 'é[1-2]' 'node[1-65536]'; do
        is "$(expand "$list" | md5sum)" "$(scontrol show hostnames "$list" | md5sum)" "as scontrol: $list"
    done
    for list in 'n3,n2,n1' 'n1,n1' 'n8,n9,n10,n011' 'n1,m1,n2' 'a[1-2]b[3-4]' 'n[08-11]' 'n1,n01' '1,2,3' \
        'n1,login,n2' 'rack1-n[1-12]'; do
        is "$(compress "$list")" "$(scontrol show hostlist "$(expand "$list" | paste -sd,)")" \
            "as scontrol: compress $list"
    done
else
    skip 'scontrol is not installed' 'agreement with scontrol'
fi
done_testing
