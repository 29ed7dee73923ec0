#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sandbox and the other users of the machine, with copies of its configuration and programs of
# their own: none of them runs, submits, cancels or reads anything.
# shellcheck disable=SC2317 # functions that ok calls
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"

PATH=$PATH:/usr/sbin
for p in slurmctld slurmd munged mungekey srun setpriv; do
    command -v $p >/dev/null || skip_all "$p is not installed"
done
[ "$(id -u)" = 0 ] || skip_all "only root can act as two other users"
as() { (cd / && user=$1 && shift && setpriv --reuid="$user" --regid="$(id -g "$user")" \
    --clear-groups env HOME=/tmp XDG_STATE_HOME="$home" "$@"); } # USER COMMAND...
owner() { as games "$@"; }
# The stranger is news, because Slurm 26.05 refuses the configuration of a SlurmUser nobody.
home=/tmp
owner test -x "$builddir/unetctl" -a -r "$srcdir/launcher" ||
    skip_all "other users may not read $builddir"
home=$(owner mktemp -d /tmp/unetctl-t.XXXXXX)
lair=$(as news mktemp -d /tmp/unetctl-t.XXXXXX) || exit 255
chmod 755 "$home" "$lair"
box=$home/box
owner_sandbox() { owner "$builddir/unetctl" sandbox "$@" --dir "$box"; }
inside() { owner "$builddir/unetctl" sandbox exec --dir "$box" -- "$@"; }
clean() {
    owner_sandbox down >/dev/null
    cat "$lair"/*.pid | xargs -r kill
    rm -rf "$home" "$lair"
}
cleanup_hooks+=(clean)

# Gives the stranger a copy of the configuration, changed by sed.
copy() { # NAME SED
    mkdir -p "$lair/conf/$1" && cp "$box"/etc/*.conf "$lair/conf/$1" &&
        sed -i "$2" "$lair/conf/$1/slurm.conf" && chown -R news "$lair/conf"
}
start_munge() { # NAME: with the key in $lair/NAME.key
    as news munged --force --key-file="$lair/$1.key" --socket="$lair/$1.sock" \
        --pid-file="$lair/$1.pid" --log-file="$lair/$1.log" --seed-file="$lair/$1.seed"
}
stranger() { as news env SLURM_CONF="$conf" SLURMD_NODENAME=node1 timeout -s KILL 4 "$@"; }
# Prints which attempts succeeded, of all kinds with each configuration, all at the same time.
attempts() { # JOB CONF...
    local job=$1 conf try tries=() names=() pids=() i
    tries=("srun -n1 touch $lair/ran" "srun -n1 --jobid=$job --overlap touch $lair/ran"
        "srun -Z -w node1 -n1 touch $lair/ran" "sbatch -o /dev/null --wrap id" "salloc -n1 id"
        "sinfo" "squeue" "sattach $job.0" "scancel $job" "scancel --ctld $job" "scontrol reconfigure"
        "scontrol show job $job" "scontrol show config" "scontrol show slurmd" "scontrol shutdown"
        "scontrol suspend $job" "scontrol requeue $job"
        "scontrol update PartitionName=main State=DOWN")
    for conf in "${@:2}"; do
        for try in "${tries[@]}"; do
            # shellcheck disable=SC2086 # words
            stranger $try >/dev/null 2>&1 &
            pids+=($!) names+=("$try with $conf")
        done
    done
    for i in "${!pids[@]}"; do ! wait "${pids[i]}" || echo "${names[i]}"; done
    [ ! -e "$lair/ran" ] || echo "a command ran"
}
works_on() { # JOB: the owner's job and the whole sandbox
    [ "$(inside squeue -h -j "$1" -o %T)" = RUNNING ] &&
        [ "$(inside srun -N1 -n1 id -un)" = games ]
}
is_cancelled() { [ "$(inside squeue -h -t all -j "$1" -o %T)" = CANCELLED ]; } # JOB

as news mungekey -c -k "$lair/own.key"
start_munge own
for mode in flat netns; do
    if ! owner_sandbox up --mode $mode --nodes 2 >"$OUT" 2>"$ERR"; then
        if [ $mode = netns ] && grep -q "does not allow" "$ERR"; then
            skip "an ordinary user cannot make namespaces" "a sandbox of namespaces"
            continue
        fi
        diag <"$ERR"
        report 1 "a sandbox of an ordinary user starts ($mode)"
        continue
    fi
    is "$(stat -c %a "$box" "$box/run" "$box/key" "$box/key/munge.key" | paste -sd " ")" \
        "700 700 700 600" "the folder is its owner's alone ($mode)"
    job=$(inside sbatch --parsable -o /dev/null --wrap 'sleep 1000')
    ok "the owner's job runs" wait_until 10 works_on "$job"

    # The owner's own configuration; a copy of it; with a munge, and so a key, of the stranger; and
    # without authentication.
    rm -rf "$lair/conf"
    superuser="s/^Slurm\(d\|\)User=.*/Slurm\1User=news/"
    copy copied ""
    copy own "s,socket=[^,]*,socket=$lair/own.sock,;$superuser"
    copy none "s,auth/munge,auth/none,;s,cred/munge,cred/none,;/^AuthInfo/d;$superuser"
    is "$(attempts "$job" "$box/etc/slurm.conf" "$lair"/conf/{copied,own,none}/slurm.conf)" "" \
        "no attempt of another user succeeds ($mode)"
    ok "the owner's job and sandbox work on" works_on "$job"
    if [ $mode = flat ]; then
        like "$box/log/slurmctld.log" "Invalid credential" "the controller got and refused the key"
        like "$box/log/slurmd.node1.log" "Invalid credential" "so did a node"
        like "$box/log/slurmctld.log" "plugin auth/none" "it also got and refused no authentication"
        port=$(sed -n 's/^SlurmctldPort=//p' "$box/etc/slurm.conf")
        listening=$(for i in 0 2 3; do
            sed -n "s/^ *[0-9]*: \(.*\):$(printf %04X $((port + i))) .* 0A .*/\1/p" /proc/net/tcp
        done | paste -sd " ")
        if [ "$(getent ahostsv4 "$(uname -n)" | sed 's/ .*//;q')" = 127.0.0.1 ]; then
            is "$listening" "0100007F 0100007F 0100007F" "the daemons listen on 127.0.0.1 only"
        else
            skip "this host's name does not lead to 127.0.0.1" "the daemons listen there only"
        fi
        # The counterpart: it is the key alone that kept the stranger out so far.
        copy key "s,socket=[^,]*,socket=$lair/key.sock,"
        install -o news -m 600 "$box/key/munge.key" "$lair/key.key"
        start_munge key
        conf=$lair/conf/key/slurm.conf
        exits 0 "a stranger who had the key would be known" stranger sinfo
        exits 1 "even he runs nothing" stranger srun -n1 touch "$lair/ran"
        like "$ERR" "group not permitted" "the partitions are the owner's alone"
        stranger scancel "$job" 2>"$ERR"
        like "$ERR" "Access/permission denied" "even he cancels nothing"
        ok "nothing ran" test ! -e "$lair/ran"
    fi
    as news "$builddir/unetctl" sandbox status --dir "$box" >"$OUT" 2>"$ERR"
    is $? 2 "another user's sandbox is refused"
    like "$ERR" "belongs to another user" "the error says why"
    inside scancel "$job"
    ok "the owner cancels his job" wait_until 10 is_cancelled "$job"
    exits 0 "it can be stopped ($mode)" owner_sandbox down
done

# A folder that another user prepared: its files would be executed.
mkdir "$lair/trap" && touch "$lair/trap/.sandbox"
echo "mode=flat; touch $lair/sprung" >"$lair/trap/sandbox.conf"
chown -R news "$lair/trap"
chmod 777 "$lair/trap"
for verb in up down status; do
    for user in games root; do
        exits 2 "a folder of another user is refused ($verb, $user)" \
            as $user "$builddir/unetctl" sandbox $verb --dir "$lair/trap"
    done
done
chown games "$lair/trap"
exits 2 "so is one in which others may write" \
    owner "$builddir/unetctl" sandbox up --dir "$lair/trap"
like "$ERR" "other users may write" "the error says why"
ok "nothing in it was executed" test ! -e "$lair/sprung"
done_testing
