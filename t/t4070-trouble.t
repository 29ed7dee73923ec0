#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the world does to ranks: a disk that is full or becomes read-only under their checkpoints, a
# second start of the same run, an address that leads nowhere. Each ends in time with one text and
# the documented exit code, leaves no process, loses no checkpoint; the run continues from it to the
# weights that it would have had. A port that is taken only delays them.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"

command -v mpirun >/dev/null || skip_all "mpirun is not installed"
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI"

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json
host=$(uname -n)
port=$((20000 + $$ % 12000)) # below the ports that the kernel gives away itself
train=(unet-train train --data data --size 32x32 --set model.base=4 --set model.depth=2
    --threads 1 --set train.lr_scaling=none --set data.split=split.json
    --batch-size 4 --set train.timeout_s=10)
begin() { # OUT OPTIONS...: three ranks in the background
    local out=$1
    shift
    mpirun -np 3 "${train[@]}" --out "$out" "$@" >"$OUT.ranks" 2>"$ERR.ranks" &
    launcher=$!
}
end() { wait "$launcher"; code=$?; }
has_state() { compgen -G "$1/checkpoint/state-*" >/dev/null; }
states() { find "$1/checkpoint" -name 'state-*.safetensors' | wc -l; }
under_way() { wait_until 60 has_state "$1"; }
left_over() { pgrep -f -- "--out $1" | wc -l; }
weights() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1/DONE"; }
# A file system of its own for DIR; false without the right to mount one.
mounted=()
unmount_all() {
    local dir
    for dir in ${mounted[@]+"${mounted[@]}"}; do umount -l "$dir"; done
}
cleanup_hooks+=(unmount_all)
unmount() {
    umount "$1"
    unset 'mounted[-1]'
}
disk() { # DIR SIZE
    mkdir -p "$1" && mount -t tmpfs -o "size=$2" none "$1" 2>/dev/null && mounted+=("$TMP/$1")
}

ok "a run of three ranks that is not disturbed" mpirun -np 3 "${train[@]}" --epochs 250 --out calm

# --- full
if disk full 2m; then
    begin "$TMP/full/run" --epochs 250 --set train.checkpoint_s=0.05
    ok "three ranks write checkpoints" under_way full/run
    dd if=/dev/zero of=full/filler bs=64k 2>/dev/null
    end
    is "$code" 1 "the disk is full: exit code 1"
    like "$ERR.ranks" 'record.jsonl: No space left on device' \
        "the error says what cannot be written, and why"
    is "$(grep -c 'error:' "$ERR.ranks")" 1 "one rank reports it"
    is "$(left_over "$TMP/full/run")" 0 "no process is left"
    ok "the checkpoint is kept" test "$(states full/run)" -ge 1
    ok "there is no result" test ! -e full/run/DONE
    rm full/filler
    ok "another attempt resumes when there is room" mpirun -np 3 "${train[@]}" --epochs 250 \
        --out again --resume full/run
    like again/record.jsonl '"kind":"resume","from":".*state-' "it resumes from the checkpoint"
    is "$(weights again)" "$(weights calm)" "the weights are those of the undisturbed run"
else
    skip "no right to mount a file system" "a full disk"
fi

# --- only the checkpoints have no room, or no right
begin "$TMP/tight" --epochs 250 --set train.checkpoint_s=0.05
ok "three ranks write checkpoints" under_way tight
if disk tight/checkpoint 16k; then
    told() { grep -q "cannot write a checkpoint: .*$1; the training continues" "$ERR.ranks"; }
    ok "a full disk is reported, and the ranks continue" wait_until 30 told \
        'No space left on device'
    unmount tight/checkpoint
    end
    is "$code" 0 "they complete the run when there is room"
    is "$(weights tight)" "$(weights calm)" "the weights are those of the undisturbed run"
    begin "$TMP/fixed" --epochs 100000 --set train.checkpoint_s=0.05
    ok "three ranks write checkpoints" under_way fixed
    mount --bind fixed/checkpoint fixed/checkpoint && mounted+=("$TMP/fixed/checkpoint")
    ok "their folder becomes read-only" wait_until 30 mount -o remount,bind,ro fixed/checkpoint
    ok "it is reported, and the ranks continue" wait_until 30 told 'Read-only file system'
    kill -USR1 "$launcher"
    end
    is "$code" 1 "ranks that cannot write their last checkpoint end with exit code 1"
    like fixed/FAILED '"exit_code":1,"error":".*Read-only file system' "the marker has the reason"
    is "$(grep -c 'error:' "$ERR.ranks")" 1 "one rank reports it"
    is "$(left_over "$TMP/fixed")" 0 "no process is left"
    ok "the last checkpoint is kept" has_state fixed
else
    skip "no right to mount a file system" "checkpoints without room or on a read-only file system"
    end
fi
if disk sealed 1m && mount -o remount,ro sealed; then
    exits 3 "a read-only folder is an error from the start" mpirun -np 3 "${train[@]}" \
        --epochs 2 --out sealed/run
    like "$ERR" 'sealed/run.*Read-only file system' "the error says so"
    is "$(grep -c 'error:' "$ERR")" 1 "it is reported once"
else
    skip "no right to mount a file system" "a read-only folder"
fi

# --- a second start beside the first
begin "$TMP/twice" --epochs 250 --set train.checkpoint_epochs=1
ok "three ranks are under way" under_way twice
exits 3 "the same run started again" mpirun -np 3 "${train[@]}" --epochs 250 --out "$TMP/twice"
like "$ERR" 'twice: another process is writing this run.s results' \
    "the error says that another process is writing the results"
end
is "$code" 0 "the first one is not disturbed"
ok "the first start has a result" test -e twice/DONE

# --- rank 0's port, and its address
write_run run.json 2 0.001 3
rank() { # RANK OUT FIRST: one rank in the background, the first worker at this address
    (
        TF_CONFIG="{\"cluster\":{\"worker\":[\"$3\",\"$host:$((port + 1))\"]},\"task\":{\"type\":\"worker\",\"index\":$1}}" \
            timeout 60 unet-train train --run run.json --out "$TMP/$2" 2>"$2.$1.err"
        echo $? >"$2.$1.code"
    ) &
}
python3 -c "import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('', $port)); s.listen(); open('taken', 'w'); time.sleep(120)" &
listener=$!
ok "another program has rank 0's port" wait_until 20 test -e taken
write_run taken.json 2 0.001 12
cat >taken.sh <<EOF
index=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
workers='"$host:$port","$host:$((port + 1))"'
export TF_CONFIG='{"cluster":{"worker":['\$workers']},"task":{"type":"worker","index":'\$index'}}'
exec unet-train train --run taken.json --out "$TMP/port"
EOF
ok "two ranks train all the same" mpirun -np 2 bash taken.sh
kill $listener
wait $listener 2>/dev/null
like "$ERR" "another program uses port $port .*; rank 0 listens at port" \
    "rank 0 says that its port is taken"
ok "the run has its result" test -e port/DONE
rank 1 nowhere "192.0.2.1:$port" # of a network that is nobody's (RFC 5737): a wrong interface
wait $!
is "$(cat nowhere.1.code)" 5 "an address of another network: exit code 5"
like nowhere.1.err "rank 1 of 2 on $host: rank 0 was not reached at 192.0.2.1:$port within 3 s" \
    "the error names the address that was not reached"
rank 1 loop "127.0.0.1:$port"
wait $!
is "$(cat loop.1.code)" 5 "an address that is this host's own: exit code 5"
is "$(pgrep -f -- "$TMP/" | wc -l)" 0 "no process is left"
done_testing
