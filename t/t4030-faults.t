#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks in trouble while they train: killed, stopped, slow. The run ends in time with one text that
# names the rank, no process stays, the checkpoint is there and the run can go on from it.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

command -v mpirun >/dev/null || skip_all "mpirun is not installed"
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI"

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json
host=$(uname -n)
port=$((20000 + $$ % 12000)) # below the ports that the kernel gives away itself
cat >rank.sh <<'END'
workers="\"$H:$P\",\"$H:$((P + 1))\",\"$H:$((P + 2))\""
[ -n "${PLAIN:-}" ] || export TF_CONFIG="{\"cluster\":{\"worker\":[$workers]},\"task\":{\"type\":\"worker\",\"index\":$OMPI_COMM_WORLD_RANK}}"
exec "$@"
END
# Three ranks in the background, by their launcher's number in $launcher.
begin() { # OUT OPTIONS...
    local out=$TMP/$1
    shift
    port=$((port + 3))
    H=$host P=$port mpirun -np 3 bash rank.sh unet-train train --data data --size 32x32 \
        --set model.base=4 --set model.depth=2 \
        --threads 1 --set train.lr_scaling=none --set data.split=split.json --batch-size 4 \
        --set train.timeout_s=4 \
        --set train.checkpoint_epochs=1 --out "$out" "$@" >"$OUT" 2>"$ERR" &
    launcher=$!
}
under_way() { wait_until 60 grep -q '"kind":"checkpoint"' "$1/record.jsonl"; }
process_of() { # RANK
    local p
    for p in $(pgrep -x unet-train); do
        if tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" &&
            tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -qx "HOME=$HOME"; then echo "$p"; fi
    done
}
end() { wait $launcher; code=$?; }
left_over() { pgrep -f -- "--out $TMP/" | wc -l; }
has_state() { compgen -G "$1/checkpoint/state-*" >"$OUT"; }

begin killed --epochs 100000
ok "three ranks are training" under_way killed
kill -KILL "$(process_of 2)"
end
is "$code" 137 "a rank is killed: its signal is mpirun's exit code"
like killed/bad-nodes "^[0-9]+ $host a rank was lost" "the node of the rank is noted"
like killed/FAILED "\"exit_code\":5,\"error\":\"rank 2 on $host is gone" "the marker names the rank"
is "$(left_over)" 0 "no process is left"
ok "the checkpoint is kept" has_state killed
begin again --epochs 100000 --resume killed
ok "another attempt resumes" under_way again
like again/record.jsonl '"kind":"resume","from":".*state-' "it resumes from that checkpoint"
kill -KILL "$(process_of 0)"
end
is "$code" 137 "rank 0 is killed"
is "$(left_over)" 0 "no process is left"

begin stopped --epochs 100000
ok "three ranks are training" under_way stopped
kill -STOP "$(process_of 1)"
end
is "$code" 5 "a rank is stopped: exit code 5"
like stopped/FAILED "\"exit_code\":5,\"error\":\"rank 1 on $host: no answer" \
    "the marker names the stopped rank"
is "$(grep -c 'error: rank' "$ERR")" 1 "one rank reports it"
is "$(left_over)" 0 "no process is left"
ok "the checkpoint is kept" has_state stopped

begin head --epochs 100000
ok "three ranks are training" under_way head
kill -STOP "$(process_of 0)"
end
is "$code" 5 "rank 0 is stopped: exit code 5"
like "$ERR" "^unet-train: error: rank 0 on $host: no answer" \
    "the error names rank 0, which submit_file.sh looks for"
is "$(left_over)" 0 "no process is left"

# Without TF_CONFIG the ranks meet when MPI has started. If rank 0 is lost, each other one says so.
export PLAIN=yes
for victim in 0 2; do
    for signal in KILL STOP; do
        begin "plain-$signal-$victim" --epochs 100000
        ok "three ranks without TF_CONFIG are training" under_way "plain-$signal-$victim"
        kill -s "$signal" "$(process_of "$victim")"
        end
        most=$((victim ? 1 : 2)) named=$(grep -c "error: rank $victim on $host" "$ERR")
        is "$(grep -c 'error: rank' "$ERR")" "$named" "$signal of rank $victim: it is named"
        ok "by $named of $most ranks" test "$named" -ge 1 -a "$named" -le $most
        [ "$victim" = 0 ] || like "plain-$signal-$victim/FAILED" "rank $victim on $host" "and marked"
    done
done
unset PLAIN

begin slow --epochs 60
ok "three ranks are training" under_way slow
victim=$(process_of 2)
for ((i = 0; i < 3; i++)); do
    kill -STOP "$victim"
    sleep 1
    kill -CONT "$victim"
    sleep 0.2
done 2>"$OUT"
end
is "$code" 0 "a slow rank does not end the run"
ok "there is a result" test -e slow/DONE
done_testing
