#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The ranks that unet-train forks on one node: a rank that is killed, stopped or cannot be started
# is named; signals reach them; parent and ranks end together; each has its own GPU and cores.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json
host=$(uname -n)
train=(unet-train train --data data --size 32x32 --set model.base=4 --set model.depth=2 \
    --threads 1 --set train.lr_scaling=none --set data.split=split.json --set train.timeout_s=4)
begin() { # OUT OPTIONS...: three ranks in the background, children of $parent
    local out=$1
    shift
    "${train[@]}" --gpus 3 --batch-size 4 --epochs 100000 --set train.checkpoint_epochs=1 "$@" \
        --out "$TMP/$out" 2>"$TMP/err" &
    parent=$!
    ok "$out: three ranks are training" \
        wait_until 60 grep -q '"kind":"checkpoint"' "$out/record.jsonl"
    mapfile -t ranks < <(pgrep -P $parent | sort -n)
    is "${#ranks[@]}" 3 "$out: each is a process"
}
end() {
    wait $parent
    code=$?
    wait_until 5 test "$(pgrep -f -- "--out $TMP/" | wc -l)" = 0
    is "$(pgrep -f -- "--out $TMP/" | wc -l)" 0 "no process is left"
}

begin killed
began=${EPOCHREALTIME/./}
kill -KILL "${ranks[2]}"
wait_until 5 test -e killed/FAILED
took=$((${EPOCHREALTIME/./} - began))
end
is $code 137 "a rank is killed: its signal is the exit code"
like killed/FAILED "\"exit_code\":5,\"error\":\"rank 2 on $host is gone: .*out of memory" \
    "the marker names it"
ok "within a second ($took us)" test $took -lt 1000000
is "$(grep -c 'error:' err)" 1 "one line reports it"
like err "^unet-train: error: rank 2 on $host is gone" "with the rank"
begin again --resume killed
like again/record.jsonl '"kind":"resume","from":".*state-' "another start continues"
kill -TERM $parent
end

begin killed0
kill -KILL "${ranks[0]}"
end
is $code 137 "rank 0 is killed"
like err "^unet-train: error: rank 0 on $host is gone" "the others name it"
is "$(grep -c 'error:' err)" 1 "one line reports it"

begin stopped
kill -STOP "${ranks[1]}"
end
is $code 5 "a rank is stopped: exit code 5, and it is ended, too"
like stopped/FAILED "\"exit_code\":5,\"error\":\"rank 1 on $host: no answer" "the marker names it"
is "$(grep -c 'error:' err)" 1 "one line reports it"

begin head
kill -STOP "${ranks[0]}"
end
is $code 5 "rank 0 is stopped: exit code 5"
like err "^unet-train: error: rank 0 on $host: no answer" "the others name it"

begin orphans
kill -KILL $parent
end
ok "ranks end with their parent, without a marker" \
    test $code = 137 -a ! -e orphans/DONE -a ! -e orphans/FAILED

for signal in TERM USR1 INT; do
    begin "sig$signal"
    kill -s $signal $parent
    end
    is $code "$([ $signal = INT ] && echo 130 || echo 75)" "SIG$signal ends it after a checkpoint"
    ok "without a marker" test ! -e "sig$signal/DONE" -a ! -e "sig$signal/FAILED"
    is "$(grep -c 'stopped by a signal' err)" 1 "one line says so"
done
begin twice
kill -INT $parent
kill -INT $parent 2>none
end
ok "a second SIGINT ends it, too ($code)" test $code = 130

# --- what cannot start
if command -v setpriv >"$OUT" && [ "$(id -u)" = 0 ]; then
    mkdir -m 777 "$TMP/other"
    few=(setpriv --reuid 61234 --clear-groups bash -c 'ulimit -u 8; shift 0; exec "$@"' few)
    chmod 755 "$TMP"
    exits 1 "a rank that cannot be started" "${few[@]}" "${train[@]}" --gpus 12 --batch-size 1 \
        --epochs 1 --out "$TMP/other/few"
    like "$ERR" 'error: cannot start rank [0-9]+ of 12 \(.*ulimit -u' "is named"
    is "$(grep -c 'error:' "$ERR")" 1 "one line reports it"
else
    skip "needs root and setpriv" "a rank that cannot be started"
fi
group=/sys/fs/cgroup/memory/unetctl-t4060-$$ # of version 1
if mkdir $group 2>"$OUT" && echo 60M >$group/memory.limit_in_bytes 2>"$OUT"; then
    ok "larger images" unet-train data synth --out large --count 6 --size 512x512 --seed 1
    # shellcheck disable=SC2016 # of the inner shell
    exits 3 "too little memory in the control group" bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' \
        $group unet-train train --data large --size 512x512 --set model.base=16 \
        --set model.depth=3 --gpus 2 --batch-size 2 --epochs 1 --threads 1 --out narrow
    like "$ERR" "rank [01] on $host: a batch of 2 needs .* GiB \(the control group's limit\)" \
        "is found before the first step"
    is "$(grep -c 'error:' "$ERR")" 1 "one line reports it"
    wait_until 5 rmdir $group 2>"$OUT"
else
    skip "no memory cgroup (version 1) that this user may write" "a limit of memory"
fi
exits 2 "comm thread is gone" "${train[@]}" --gpus 2 --batch-size 4 --epochs 1 --out no \
    --set train.comm=thread
like "$ERR" "'thread': each GPU has a process of its own; use auto" "one line says what to use"

# --- cores
cores=$(nproc)
ok "2 ranks with all cores" "${train[@]}" --threads 0 --gpus 2 --batch-size 4 --epochs 1 --out cores
is "$(sed -n 's/.*"threads":\([0-9]*\).*/\1/p' cores/record.jsonl)" $((cores > 2 ? cores / 2 : 1)) \
    "share them"

# --- many
exits 0 "64 ranks" timeout 300 "${train[@]}" --set train.timeout_s=200 --gpus 64 \
    --set train.global_batch=64 --epochs 1 --out many
is "$(sed -n 's/.*"devices":\([0-9]*\).*/\1/p' many/record.jsonl)" 64 "have a result"
done_testing
