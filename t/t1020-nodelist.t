#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl nodelist has its own grammar, and agrees with scontrol where both accept a list.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

expand() { unetctl nodelist expand "$@"; }
compress() { unetctl nodelist compress "$@"; }
words() { tr '\n' ' '; }

is "$(expand 'node[1-3,5],gpu[008-010]-ib' | words)" \
    'node1 node2 node3 node5 gpu008-ib gpu009-ib gpu010-ib ' \
    'brackets, padding and text after a bracket are expanded'
is "$(expand -- 'n[1-2]' n3 | words)" 'n1 n2 n3 ' "a list may follow --"
is "$(expand n1 'n[2-3]' n1 | words)" 'n1 n2 n3 n1 ' \
    'several operands are one list, and duplicates are kept'
is "$(compress node1 node2 node3 node5)" 'node[1-3,5]' 'names are compressed'
is "$(compress 'node[1-100]' | xargs "$builddir/unetctl" nodelist expand | wc -l)" 100 \
    'a compressed list expands to the same names'
is "$(expand 'n[1-100000]' | tail -n 1)" n100000 'a long list is expanded'

while IFS='|' read -r list reason; do
    exits 2 "refused: $list" unetctl nodelist expand "$list"
    like "$ERR" "$reason" "... $reason"
    ok '... nothing is printed on stdout' test ! -s "$OUT"
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
ok 'a list of a billion names is refused at once' timeout 5 sh \
    -c '! unetctl nodelist expand "n[1-999999999]"'
exits 2 'a list that needs much memory to read is refused' sh \
    -c 'yes "n[1-100000]" | unetctl nodelist expand -'

# The sources of a list.
is "$(printf 'n1\nn2 n3,\n' | compress -)" 'n[1-3]' '- reads standard input'
is "$(printf 'n[2-3]' | expand n1 - n4 | words)" 'n1 n2 n3 n4 ' \
    '... and may stand among other lists'
printf 'n1\nn[2-3]\n' >"$TMP/hosts"
is "$(compress "$TMP/hosts")" 'n[1-3]' 'the absolute path of a file is read'
is "$(SLURM_JOB_NODELIST='n[1-2]' SLURM_NODELIST=m1 expand | words)" 'n1 n2 ' \
    'without a list the nodes of the job are used'
is "$(SLURM_NODELIST='n[1-2]' expand | words)" 'n1 n2 ' '... also from the older variable'
exits 2 '... without the variables it is an error' unetctl nodelist expand
like "$ERR" 'SLURM_JOB_NODELIST is not set; give a list, or -' \
    '... the error says what to type'
exits 2 'no names on standard input is an error' sh -c 'unetctl nodelist compress - </dev/null'
exits 2 'a NUL byte is refused' sh -c 'printf "n1\0n2" | unetctl nodelist compress -'
like "$ERR" 'NUL byte' '... the error names it'
exits 1 'standard input that cannot be read is an error' sh -c 'unetctl nodelist compress - </'
exits 7 'a file that does not exist is an error' unetctl nodelist compress "$TMP/none"
exits 2 'an unknown action is refused' unetctl nodelist expnd n1
like "$ERR" "did you mean 'expand'" '... the error names the nearest'
exits 1 'a full disk is reported' sh -c 'exec unetctl nodelist expand n1 >/dev/full'

# Prints random lists, valid and invalid. Slurm accepts no text after the last bracket. It makes
# names of lists that unetctl refuses: with an unclosed or stray bracket, a range without end, or
# characters that names cannot have.
random_lists() { # SEED COUNT
    awk -v seed="$1" -v count="$2" '
    function pick(list,    a, n) { n = split(list, a, " "); return a[1 + int(rand() * n)] }
    function number() {
        if (rand() < .2) return pick("9 09 99 099 0 00 000 65535 999999")
        return sprintf("%0*d", rand() < .6 ? 1 : 1 + rand() * 4,
            rand() < .7 ? rand() * 14 : 90 + rand() * 920)
    }
    function range(    low) {
        if (rand() < .02) return pick("a 1- -1 1-2-3 1--2 0x1 1:2 5-3 [1] 1-65537")
        low = number()
        if (rand() < .45 || length(low) > 6) return low
        return low "-" sprintf("%0*d", rand() < .5 ? 1 : 1 + rand() * 5, low + int(rand() * 12))
    }
    function bracket(    s) {
        for (s = "[" range(); rand() < .4;) s = s "," range()
        return s (rand() < .01 ? "" : "]")
    }
    function text() { return rand() < .1 ? "" : pick("n node a-b x_ r1 gpu. N c0 1 0 z9 007") }
    function name(    s) {
        if (rand() < .02) return pick("n] n;1 n[[1]] n[1]] (null)")
        s = text()
        if (rand() < .4) s = s bracket() text()
        if (rand() < .2) s = s "[" pick("1,3 08-11 0,2-3") "]" text() bracket() text()
        return rand() < .4 ? s number() : s bracket()
    }
    BEGIN {
        srand(seed)
        for (i = 0; i < count; i++) {
            for (s = name(); rand() < .5;) s = s pick(", , , ,,") name()
            print s
        }
    }'
}
# Prints the lists on stdin that unetctl and scontrol read differently, without intended
# differences.
judge_lists() {
    local list ours theirs
    while read -r list; do
        ours=$(expand "$list" 2>/dev/null) || ours=
        # Slurm needs minutes for the longest lists, and never ends if 18446744073709551615 is not
        # in the last bracket.
        [ ${#ours} -lt 50000 ] || continue
        theirs=$(scontrol show hostnames "$list" 2>&1)
        if [[ $theirs == *Invalid* ]]; then
            [ -z "$ours" ] || [[ ,$list, =~ \][^][,]+, ]] || [[ $list == *-65537* ]] ||
                echo "only we accept $list"
        elif [ -z "$ours" ]; then
            [[ ,$list, =~ [0-9]-[],] ]] || [[ $list == *[\;\(]* ]] ||
                [[ ",$list," =~ ,[^[]*\] ]] || [[ $list =~ \][^[,]*\] ]] ||
                [[ $list =~ \[[^]]*(\[|$) ]] || echo "only we refuse $list"
        elif [ "$ours" != "$theirs" ]; then
            echo "different names: $list"
        fi
    done
}
# Prints the lists on stdin whose names unetctl and scontrol compress differently.
judge_compressed() {
    local list names
    while read -r list; do
        names=$(expand "$list" 2>/dev/null | head -n 200 | paste -sd,)
        [ -n "$names" ] || continue
        [ "$(compress "$names")" = "$(scontrol show hostlist "$names")" ] ||
            echo "different: $names"
    done
}

# scontrol reads a configuration first, but needs no running Slurm.
if command -v scontrol >/dev/null; then
    export SLURM_CONF=$TMP/slurm.conf
    printf '%s\n' ClusterName=t SlurmctldHost=localhost NodeName=localhost \
        'PartitionName=p Nodes=localhost' \
        >"$SLURM_CONF"
    for list in 'n1' 'n[1,3]' 'n[0001-0003],m5,o[009-011]' 'a[1-2]b[3-4]' 'n[001-003,7]' 'n[9-11]' \
        'n1,n1,n2' 'n[3,1,2]' ' n1 , n2 ' 'n1 n2' 'n1,,n2' '[1-3]' '1-3' 'n[0001-2]' \
        'n[1-3]-ib[0-1]' \
        'n[1-2][3-4]' 'n[1-2]3[4-5]' 'n[18446744073709551615]' 'é[1-2]' 'node[1-65536]'; do
        is "$(expand "$list" | md5sum)" "$(scontrol show hostnames "$list" | md5sum)" \
            "as scontrol: $list"
    done
    for list in 'n3,n2,n1' 'n1,n1' 'n8,n9,n10,n011' 'n1,m1,n2' 'a[1-2]b[3-4]' 'n[08-11]' 'n1,n01' \
        '1,2,3' \
        'n1,login,n2' 'rack1-n[1-12]'; do
        is "$(compress "$list")" "$(scontrol show hostlist "$(expand "$list" | paste -sd,)")" \
            "as scontrol: compress $list"
    done
    is "$(random_lists 1244 250 | judge_lists)" '' 'as scontrol: 250 random lists (seed 1244)'
    is "$(random_lists 4421 250 | judge_compressed)" '' \
        'as scontrol: 250 random lists, compressed (seed 4421)'
else
    skip 'scontrol is not installed' 'agreement with scontrol'
fi
done_testing
