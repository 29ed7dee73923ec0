#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sandbox: up, status and exec; two at once; taking over a killed one; down leaves nothing.
# shellcheck disable=SC2016,SC2317 # text for other shells; functions that ok calls
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"

member_pids() { # DIR: processes whose Slurm is the one of this sandbox
    grep -lzxF "SLURM_CONF=$1/etc/slurm.conf" /proc/[0-9]*/environ 2>/dev/null
}
no_members() { [ -z "$(member_pids "$1")" ]; }
ready_nodes() { unetctl sandbox exec --dir "$1" -- sinfo -h -p main -t idle -o %D; }
holder() { sed -n 's/^holder=//p' "$1/sandbox.conf"; }

exits 2 "an unknown action is refused" unetctl sandbox start
like "$ERR" "up, down, status, exec" "the error lists the actions"
exits 2 "blanks in the folder's path are refused" unetctl sandbox up --dir "$TMP/a b"
like "$ERR" "blanks" "the error says why"
exits 2 \
    "a path that is too long is refused" unetctl sandbox up --dir "$TMP/$(printf 'x%.0s' {1..70})"
mkdir "$TMP/full" && touch "$TMP/full/precious"
exits 2 "a folder with other files is refused" unetctl sandbox up --dir "$TMP/full"
ok "its files are unchanged" test -e "$TMP/full/precious"
exits 2 "an unknown mode is refused" unetctl sandbox up --mode cloud
exits 4 "status without a sandbox fails" unetctl sandbox status
exits 4 "exec without a sandbox fails" unetctl sandbox exec -- true
like "$ERR" "unetctl sandbox up" "the error says what to type"
mkdir "$TMP/bin" && for p in bash dirname cat sed id; do ln -s "$(command -v $p)" "$TMP/bin/$p"; \
    done
mkdir "$TMP/libexec" && cp -r "$srcdir/launcher" "$TMP/libexec/"
sed -i 's,^PATH=.*,PATH=$PATH,' "$TMP/libexec/launcher/sandbox/sandbox-lib.sh"
UNETCTL_LIBEXECDIR=$TMP/libexec PATH=$TMP/bin exits 4 "without Slurm it is refused" \
    "$builddir/unetctl" sandbox up
like "$ERR" "apt-get install" "the error names the packages"

sandbox_up --nodes 7
for p in slurmctld slurmd srun scontrol munged mungekey; do
    ln -s "$(PATH=$PATH:/usr/sbin command -v $p)" "$TMP/bin/$p"
done
UNETCTL_LIBEXECDIR=$TMP/libexec PATH=$TMP/bin exits 4 "without slurmdbd there is no accounting" \
    "$builddir/unetctl" sandbox up --accounting
like "$ERR" "'slurmdbd' is missing.*apt-get install.*mariadb-server-core" \
    "the error names the missing packages"
DIR=$XDG_STATE_HOME/unetctl/sandbox
is "$(ready_nodes "$DIR")" 7 "seven nodes are idle"
exits 0 "status works" unetctl sandbox status
like "$OUT" "node7 +idle" "it shows the nodes"
exits 0 "status --json works" unetctl sandbox status --json
is "$(python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(d["schema"], d["running"], d["nodes"], d["gpus_per_node"])' "$OUT")" \
    "1 True 7 2" "the JSON has the shape of the sandbox"
exits 0 "up with the same shape succeeds" unetctl sandbox up
like "$OUT" "up already" "it says that the sandbox is running"
exits 4 "up with another shape is refused" unetctl sandbox up --nodes 3

exits 3 "exec passes the exit code" login bash -c 'exit 3'
is "$(echo some words | login cat)" "some words" "exec connects standard input and output"
is "$(mkdir -p "$TMP/some where" && cd "$TMP/some where" && login pwd)" "$TMP/some where" \
    "exec keeps the current directory"
exits 127 "a program that does not exist is reported" login no-such-program
exits 2 "a node that does not exist is refused" unetctl sandbox exec --node 8 -- true
mode=$(sed -n 's/^mode=//p' "$DIR/sandbox.conf")
echo "# mode $mode"
if [ "$mode" = netns ]; then
    exits 2 "a folder that nodes would not see is refused" unetctl sandbox up \
        --dir "/dev/shm/unetctl-t.$$"
    like "$ERR" "each node has its own /dev/shm" "the error says why"
    rm -rf "/dev/shm/unetctl-t.$$"
    is "$(unetctl sandbox exec --node 3 -- hostname)" node3 "exec --node runs on the node"
    is "$(login srun -N7 --ntasks-per-node=1 hostname | sort | tr '\n' ' ')" \
        "node1 node2 node3 node4 node5 node6 node7 " "jobs see seven host names"
    unetctl sandbox exec -- sleep 654 &
    ok "a command is running" wait_until 10 login pgrep -fx "sleep 654"
    kill $!
    wait $! 2>/dev/null
    is "$(wait_until 10 login bash -c '! pgrep -fx "sleep 654"' && echo gone)" gone \
        "a process on a node ends with the exec that started it"
fi
exits 2 "down from inside the sandbox is refused" login unetctl sandbox down
is "$(login srun -n1 --gpus-per-task=2 bash -c 'echo $CUDA_VISIBLE_DEVICES $UNET_GPUS')" \
    "0,1 fake" "jobs see fake GPUs"

# Root's own, opened by hand, serves other users as themselves.
if [ "$(id -u) $mode" = "0 netns" ]; then
    sandbox_open
    guest() { login setpriv --reuid=games --regid=games --clear-groups "$@"; }
    is "$(guest srun -N2 id -un)" $'games\ngames' "jobs of another user run as that user"
    job=$(guest sbatch --parsable -D / -o /dev/null --wrap 'test "$(id -un)" = games')
    is "$(wait_job "$job" 30)" COMPLETED "so do batch jobs"
    if guest test -x "$builddir/unetctl"; then
        exits 0 "inside, it is that user's sandbox as well" guest "$builddir/unetctl" sandbox status
    else
        skip "other users may not read $builddir" "inside, it is that user's sandbox as well"
    fi
fi

# An ordinary user can have a sandbox, too.
as_user() { (cd / && HOME=$user_home XDG_STATE_HOME=$user_home setpriv --reuid=games --regid=games \
    --clear-groups "$@"); }
user_home=/
if [ "$(id -u)" != 0 ] || ! as_user test -x "$builddir/unetctl" -a -r "$srcdir/launcher"; then
    skip "not root, or nobody else may read $builddir" "an ordinary user's sandbox"
else
    user_home=$(as_user mktemp -d /tmp/unetctl-t.XXXXXX)
    user_down() { as_user "$builddir/unetctl" sandbox down >/dev/null && rm -rf "$user_home"; }
    cleanup_hooks+=(user_down)
    exits 0 "an ordinary user can start a sandbox" as_user "$builddir/unetctl" sandbox up --nodes 2
    is "$(as_user "$builddir/unetctl" sandbox exec -- srun -N2 id -un)" $'games\ngames' \
        "the sandbox of another user runs jobs"
    is "$(as_user "$builddir/unetctl" sandbox exec --node 2 -- id -un)" games \
        "a node of another user's sandbox can be entered"
    exits 0 "it can be stopped" as_user "$builddir/unetctl" sandbox down
    ok "it leaves no process" no_members "$user_home/unetctl/sandbox"
fi

# If nodes do not come up and the user interrupts, nothing is left.
mkdir "$TMP/slow"
printf '#!/bin/sh\nexec sleep 1000\n' >"$TMP/slow/slurmd" && chmod +x "$TMP/slow/slurmd"
for mode in auto flat; do
    PATH=$TMP/slow:$PATH unetctl sandbox up --dir "$TMP/slow-$mode" --mode $mode 2>/dev/null &
    ok "nodes do not come up ($mode)" wait_until 60 test -e "$TMP/slow-$mode/run/started"
    kill $!
    wait $!
    is $? 143 "up is interrupted"
    ok "it leaves no process" wait_until 10 no_members "$TMP/slow-$mode"
    exits 4 "it leaves no sandbox" unetctl sandbox status --dir "$TMP/slow-$mode"
done

# It is not an error if a process ends between being found and being signalled.
sleep 100 &
printf '%d %d\n' $! "$(sed 's/.*) //' /proc/$!/stat | cut -d' ' -f20)" >"$TMP/list"
exits 0 "a signal to a process that has just ended is not an error" bash -euc \
    '. "$1/launcher/sandbox/sandbox-lib.sh"; kill() { return 1; }; signal_all TERM "$2"' sh \
    "$srcdir" "$TMP/list"
kill $!
wait $! 2>/dev/null

# A flat one needs an address that is not loopback's, and names what makes one.
apart=(unshare --net)
[ "$(id -u)" = 0 ] || apart+=(--user --map-root-user)
if command -v ip >/dev/null && "${apart[@]}" true 2>/dev/null; then
    exits 4 "a machine without a network" \
        "${apart[@]}" unetctl sandbox up --dir "$TMP/alone" --mode flat
    like "$ERR" "no IPv4 address besides loopback's" "the error says what is missing"
    remedy=$(sed -n 's/.*as root: //p' "$ERR")
    exits 0 "what it says to type helps" "${apart[@]}" bash -c "ip link set lo up && $remedy &&
        unetctl sandbox up --dir '$TMP/alone' --mode flat --nodes 2 &&
        unetctl sandbox exec --dir '$TMP/alone' -- srun -N2 hostname &&
        unetctl sandbox down --dir '$TMP/alone'"
    ok "it leaves no process" wait_until 10 no_members "$TMP/alone"
else
    skip "no network namespaces, or no ip" "a flat sandbox without a network"
fi

# A second, flat sandbox at the same time, with a job that is running when it is stopped.
exits 0 "a second sandbox is started" unetctl sandbox up --dir "$TMP/two" --mode flat --nodes 2
is "$(ready_nodes "$TMP/two")" 2 "it has its own nodes"
is "$(ready_nodes "$DIR")" 7 "the first keeps its nodes"
is "$(UNETCTL_SANDBOX=$TMP/two unetctl sandbox exec -- sinfo -h -p main -o %D)" 2 \
    "UNETCTL_SANDBOX chooses the sandbox"
exits 4 "UNETCTL_SANDBOX never leads to another sandbox" \
    env UNETCTL_SANDBOX="$TMP/none" unetctl sandbox exec -- true
unet-train data synth --out "$TMP/images" --count 12 --size 32x32 2>/dev/null
unetctl init "$TMP/flat" --data "$TMP/images" --site sandbox --set data.height=32 \
    --set data.width=32 --set model.base=4 \
    --set model.depth=2 --set train.epochs=1 --set train.batch_per_gpu=2 2>/dev/null
UNETCTL_SANDBOX=$TMP/two exits 0 "three ranks meet on two nodes whose names only we know" \
    unetctl submit -C "$TMP/flat" --gpus 3 --wait --timeout 120
unetctl sandbox exec --dir "$TMP/two" -- sbatch -N2 -o "$TMP/job.out" \
    --wrap 'srun sleep 1000' >/dev/null
exits 0 "a sandbox with a running job is stopped" unetctl sandbox down --dir "$TMP/two"
ok "no process is left" wait_until 10 no_members "$TMP/two"
exits 0 "stopping it again is not an error" unetctl sandbox down --dir "$TMP/two"
is "$(ready_nodes "$DIR")" 7 "the first sandbox still runs"

# The supervisor is killed. Then the record names the pid of another process, as after a reboot.
unetctl sandbox up --dir "$TMP/two" --mode flat --nodes 2 >/dev/null
holder=$(holder "$TMP/two")
kill -KILL "$holder"
wait_until 10 sh -c "! grep -q '^State:.[^Z]' /proc/$holder/status" 2>/dev/null
exits 4 "status of a killed sandbox fails" unetctl sandbox status --dir "$TMP/two"
exits 0 "up replaces it" unetctl sandbox up --dir "$TMP/two" --nodes 1
like "$OUT" "taking over" "it says so"
is "$(ready_nodes "$TMP/two")" 1 "it has the new shape"
cp "$TMP/two/sandbox.conf" "$TMP/conf"
exits 0 "it is stopped" unetctl sandbox down --dir "$TMP/two"
sleep 600 &
stranger=$!
sed "s/^holder=.*/holder=$stranger/" "$TMP/conf" >"$TMP/two/sandbox.conf"
exits 4 \
    "a record with another process's pid is not a sandbox" unetctl sandbox status --dir "$TMP/two"
exits 0 "down of that record succeeds" unetctl sandbox down --dir "$TMP/two"
ok "the other process still runs" kill -0 $stranger
sed 's/^boot=.*/boot=other/; s/^host=.*/host=elsewhere/' "$TMP/conf" >"$TMP/two/sandbox.conf"
for verb in status up down; do
    exits 4 "$verb of a sandbox of another host" unetctl sandbox $verb --dir "$TMP/two"
    like "$ERR" 'was started on host elsewhere; use it there' "says so"
done
kill $stranger

exits 0 "the first sandbox is stopped" unetctl sandbox down
ok "no process is left" wait_until 10 no_members "$DIR"
ok "its logs are kept" test -s "$DIR/log/slurmctld.log"
done_testing
