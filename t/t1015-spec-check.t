#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl spec --check without Slurm, with ranks on this machine and other programs that connect to
# rank 0's port. t2030-spec.t does the same in real steps on several nodes.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
base=$((20000 + $$ % 1200 * 10)) # below the ports that the kernel gives away itself

check() { # RANK [OPTIONS]
    local rank=$1
    shift
    timeout 60 unetctl spec --check --nodelist localhost --tasks-per-node 3 --port-base "$base" \
        --rank "$rank" "$@"
}
# Runs ranks at the same time, all with $options. Prints their stdout, then their exit codes.
options=()
ranks() { # RANK...
    local pids=() rank rc codes=
    for rank in "$@"; do
        check "$rank" ${options[@]+"${options[@]}"} >"out.${#pids[@]}" 2>"err.${#pids[@]}" &
        pids+=("$!")
    done
    for rank in "${pids[@]}"; do
        rc=0
        wait "$rank" || rc=$?
        codes+=" $rc"
    done
    cat out.*
    cat err.* >"$ERR"
    rm -f out.* err.*
    echo "codes:$codes"
}

is "$(ranks 2 0 1 | sed 's/, sha256.*//')" \
    "3 ranks on 1 node see the same cluster, rank 0 at localhost:$base
codes: 0 0 0" 'three ranks agree'
options=(--timeout 2)
is "$(ranks 0 1)" 'codes: 5 5' 'a missing rank is an error on all ranks'
like "$ERR" "rank 2 on localhost: it did not report to localhost:$base within 2 s" \
    '... the error names it'
like "$ERR" 'rank 1 on .*: the ranks disagree; rank 0 on localhost says where' \
    '... the other ranks report the disagreement'
is "$(ranks 0 1 1)" 'codes: 5 5 5' 'two processes with one rank are an error on all ranks'
like "$ERR" 'rank 1 on .*: a second process has rank 1' '... the error names the rank'
is "$(ranks 1)" 'codes: 5' 'a missing rank 0 is an error'
like "$ERR" "rank 1 on .*: no answer from rank 0 at localhost:$base: Connection refused" \
    '... the error says that rank 0 does not answer'
exits 5 'a rank whose address belongs to another machine is an error' unetctl spec \
    --check --nodelist 'localhost,192.0.2.1' \
    --tasks-per-node 1 --port-base "$base" --rank 1 --timeout 0.5
like "$ERR" 'rank 1 on .*: it runs on .*, but its address is 192.0.2.1:' \
    '... the error names both hosts'
exits 5 'a node that does not resolve is an error' \
    unetctl spec --check --nodelist no-such-host.invalid \
    --tasks-per-node 1 \
    --port-base "$base" --rank 0 --timeout 0.5
like "$ERR" 'no-such-host.invalid' '... the error names it'

if ! command -v python3 >/dev/null; then
    skip 'python3 is not installed' 'other clients and servers at the port'
    done_testing
fi
cat >guest.py <<'EOF'
# guest.py PORT TEXT waits until the port listens, sends TEXT, prints the answer, and ends.
import socket, sys, time
for _ in range(300):
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("guest.py: nobody listens at port " + sys.argv[1])
s.settimeout(30 if "step\":\"1" in sys.argv[2] else 0.5)
try:
    s.sendall(sys.argv[2].encode() * int(sys.argv[3]))
    print(s.recv(1000).decode())
except OSError:
    pass
EOF
with_guest() { # TEXT COUNT: codes of ranks 0, 1, 2
    local first rc=0
    check 0 --timeout 20 >/dev/null 2>"$ERR" &
    first=$!
    python3 guest.py "$base" "$1" "$2" >guest.out || echo 'no guest came'
    options=(--timeout 20)
    ranks 1 2 >others
    wait $first || rc=$?
    echo "$rc $(cat others)"
}
while read -r count text; do
    is "$(with_guest "$(printf '%b' "$text")" "$count")" '0 codes: 0 0' \
        "a guest who says ${text:0:25} is no matter"
done <<'EOF'
1 GET / HTTP/1.1\r\n\r\n.
1 {"rank":1}\n.
1 [1]\n.
1 {"step":"
1 
70000 x
EOF
is "$(with_guest '{"step":"1.0","rank":1}
' 1)" '0 codes: 0 0' 'a process of another step does not count as a rank'
is "$(cat guest.out)" '{"other":"."}' '... it learns whose port this is'
cat >crowd.py <<'EOF'
import socket, sys, time
for _ in range(300):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        break
    except OSError:
        time.sleep(0.1)
crowd = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(300)]
for s in crowd[::2]:
    s.sendall(b'{"st')
open("crowd", "w")
time.sleep(60)
EOF
check 0 --timeout 20 >/dev/null 2>"$ERR" &
first=$!
python3 crowd.py "$base" &
crowd=$!
ok "300 guests who do not end a line" wait_until 30 test -e crowd
options=(--timeout 20)
is "$(ranks 1 2)" 'codes: 0 0' '... delay no rank'
kill $crowd
ok '... and are no finding' wait $first
python3 -c 'import http.server, sys
handler = http.server.SimpleHTTPRequestHandler
http.server.HTTPServer(("", int(sys.argv[1])), handler).serve_forever()' "$base" 2>http &
server=$!
wait_until 30 python3 \
    -c 'import socket, sys; socket.create_connection(("localhost", int(sys.argv[1])))' "$base"
exits 5 "another program's server at the port of rank 0 is an error" check 0 --timeout 2
like "$ERR" "it cannot listen at localhost:$base: Address already in use; another job, .*choose another --port-base" \
    '... the error names the port and --port-base'
kill $server
done_testing
