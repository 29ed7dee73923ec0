#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of one run that are plain processes: they meet, or end in time with one text that says who
# is missing or differs. trainer/comm/rendezvous/test/rendezvous.c has the cases that a program
# needs for.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

ok "synthetic data" unet-train data synth --out data --count 6 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json
host=$(uname -n)
port=$((20000 + $$ % 12000)) # below the ports that the kernel gives away itself
write_run run.json 3 0.001 10
write_run other.json 3 0.002 10
write_run hasty.json 3 0.001 2
spec() { # INDEX [THIRD]
    printf '{"cluster":{"worker":["%s:%d","%s:%d","%s:%d"]},"task":{"type":"worker","index":%d}}\n' \
        "$host" "$port" "$host" $((port + 1)) "${2:-$host}" $((port + 2)) "$1"
}
# One rank in the background: its output in RANK.err, its exit code in RANK.code.
rank() { # RANK OUT [RUN [THIRD]]
    (
        TF_CONFIG=$(spec "$1" "${4:-}") timeout 30 unet-train train --run "${3:-run.json}" \
            --out "$TMP/$2" 2>"$1.err"
        echo $? >"$1.code"
    ) &
}
codes() { cat -- *.code | tr '\n' ' '; }
errors() { cat -- *.err | grep -c error:; }
new() { rm -f -- *.err *.code; port=$((port + 3)); }

new
rank 2 missing hasty.json && rank 0 missing hasty.json
wait
is "$(codes)" "5 5 " "a rank that does not come: the others end with 5"
like 0.err "rank 0 of 3 on .* has waited 2 s at port $port: rank 1 \($host\) did not connect" \
    "rank 0 names the missing rank"
is "$(errors)" 1 "nobody else says anything"
like missing/FAILED 'rank 1 .* did not connect' "the marker has the text"
is "$(stat -c %a missing/token)" 600 "the token is its owner's"

new
rank 1 alone hasty.json && rank 2 alone hasty.json
wait
is "$(codes)" "5 5 " "a missing rank 0 is an error of all other ranks"
like 1.err "rank 1 of 3 on .*: rank 0 was not reached at $host:$port within 2 s: .* no process listens" \
    "the error says that rank 0 was not reached"

new
rank 0 plans && rank 1 plans other.json && rank 2 plans
wait
is "$(codes)" "5 5 5 " "a rank with another run.json is an error of all ranks"
like 0.err "rank 1 on $host has another run.json" "the error names the rank with another run.json"
is "$(errors)" 1 "the error is printed once"

new
rank 0 stale && rank 1 stale run.json localhost && rank 2 stale
wait
is "$(codes)" "5 5 5 " "a rank with an outdated cluster spec is an error of all ranks"
like 0.err "rank 1 on $host has another cluster spec than rank 0" \
    "the error names the rank with another cluster spec"
is "$(errors)" 1 "the error is printed once"

new
rank 0 here && rank 1 here && rank 2 elsewhere
wait
is "$(codes)" "5 5 5 " "a rank with another results folder is an error of all ranks"
like 2.err "another token" "the rank says that its token differs"
like 0.err "rank 2 \($host\) did not connect; one from .* that calls itself rank 2 had another token" \
    "rank 0 says which rank had another token"

new
rank 0 twice && rank 1 twice
(TF_CONFIG=$(spec 1) timeout 30 unet-train train --run run.json --out "$TMP/twice" 2>2.err; echo \
    $? >2.code) &
wait
is "$(codes)" "5 5 5 " "a rank that connects twice is an error of all ranks"
like 0.err "rank 1 connected twice" "the error names the rank that connected twice"

# A stranger calls rank 0 as a rank would: 40 bytes of greeting, then a refusal of 4 zeros.
new
rank 0 strange
cat >stranger.py <<'EOF'
import socket, struct, sys, time
end = time.time() + 10
while True:
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
        break
    except OSError:
        if time.time() > end:
            sys.exit("rank 0 does not listen")
        time.sleep(0.05)
answer = s.recv(40, socket.MSG_WAITALL)
s.sendall(b"unrdvz03" + bytes(32) + struct.pack("=iI", 1, 208) + bytes(208 + 16))
while part := s.recv(4096):
    answer += part
print(len(answer), answer[:8].decode(), answer[40:].hex())
EOF
is "$(python3 stranger.py $port)" "44 unrdvz03 00000000" \
    "a stranger that calls itself rank 1 gets a refusal and nothing else"
rank 1 strange && rank 2 strange
wait
unlike 0.err 'did not connect|connected twice' "the ranks meet in spite of it"

# A stranger that listens at rank 0's port, and never answers.
new
python3 -c "import socket, time
s = socket.create_server(('', $port)); open('squatter', 'w')
time.sleep(60)" &
squatter=$!
ok "another program has rank 0's port" wait_until 20 test -e squatter
for r in 0 1 2; do rank $r squat; done
ok "the ranks end" wait_until 40 test -e 0.code -a -e 1.code -a -e 2.code
kill $squatter
wait
like 0.err "another program uses port $port .*; rank 0 listens at port [0-9]+, .*squat/port" \
    "rank 0 says where it listens instead"
unlike 0.err 'did not connect|not reached' "the ranks meet there"
is "$(cat -- *.err | grep -c 'not reached')" 0 "no rank misses rank 0"

# Without a launcher MPI knows nothing of the others, who have met all the same.
new
rank 0 met && rank 1 met && rank 2 met
wait
unlike 0.err 'did not connect|no process listens' "all ranks meet"
ok "the first rank that notices reports that MPI does not connect them" \
    grep -Eq 'MPI has 1 ranks|built without MPI' 0.err 1.err 2.err

is "$(pgrep -f -- "--out $TMP/" | wc -l)" 0 "no process is left"
done_testing
