# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What sandbox-up and sandbox-down share. A sandbox is one folder:
#
#   .sandbox            marks the folder as ours: nothing is ever deleted in another one
#   sandbox.conf        shape and supervisor of the sandbox that runs (or was killed); sourced here,
#                       parsed by sandbox.c: name=value lines
#   etc key log run spool state tmp dev db   of its Slurm, munge, fake GPUs and accounting
#
# Exit codes are unetctl's: 2 usage, 4 scheduler unreachable or refusing.

PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C

die() { # CODE TEXT
    echo "unetctl: error: $2" >&2
    exit "$1"
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# Prints the start time of a process in clock ticks since boot. Fails if the process does not exist
# or is a zombie (kill -0 succeeds for zombies, and pid 1 of a container often never reaps them).
start_time() { # PID
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    read -ra stat <<<"${stat##*) }" # the command's name may hold blanks and brackets
    [ "${stat[0]}" != Z ] && [ "${stat[0]}" != X ] && echo "${stat[19]}"
}

# Is this still the same process? Its pid alone may have been reused.
is_ours() { # PID START
    [ -n "$1" ] && [ -n "$2" ] && [ "$(start_time "$1")" = "$2" ]
}

# The files of a sandbox are executed: another user must not have written them.
check_private() { # DIR
    [ -O "$1" ] || die 2 "$1 belongs to another user, and a sandbox serves its owner alone; choose another --dir"
    [ ! -e "$1/sandbox.conf" ] || [ -z "$(find "$1" -maxdepth 0 -perm /022)" ] ||
        die 2 "other users may write in $1, whose files are executed; remove it, or choose another --dir"
}

# Allows one `up` or `down` at a time; the lock ends with the process.
take_lock() { # DIR
    exec 9>"$1/.sandbox" && chmod 600 "$1/.sandbox" # other users cannot lock it
    flock -w 120 9 || die 4 "another 'unetctl sandbox' has been working in $1 for two minutes"
}

# Reads the fields of sandbox.conf into globals.
# shellcheck disable=SC2034 # some are for the scripts that source this
read_conf() { # DIR
    mode='' userns=0 nodes=0 gpus_per_node=0 cpus_per_node=0 base_port=0 accounting=0
    holder='' holder_start='' boot=''
    [ -s "$1/sandbox.conf" ] || return 1
    # shellcheck source=/dev/null
    . "$1/sandbox.conf"
}

is_running() { # after read_conf
    [ "$boot" = "$(boot_id)" ] && is_ours "$holder" "$holder_start"
}

all_gone() { # FILE of "PID START" lines
    local pid start
    while read -r pid start; do
        ! is_ours "$pid" "$start" || return 1
    done <"$1"
}

signal_all() { # SIGNAL FILE
    local pid start
    while read -r pid start; do
        # A process may end after it was found.
        if is_ours "$pid" "$start"; then kill "-$1" "$pid" 2>/dev/null || true; fi
    done <"$2"
}

wait_gone() { # FILE: up to 5 s
    local i
    for ((i = 0; i < 100; i++)); do
        all_gone "$1" && return 0
        sleep 0.05
    done
    return 1
}

# Lists the processes whose environment has this sandbox's SLURM_CONF: job steps, their programs,
# helpers. Ancestors of this process are excluded, in case it was started within the sandbox.
list_members() { # DIR
    local proc pid up=$$ mine=" "
    while [ "${up:-0}" -gt 1 ]; do
        mine+="$up "
        up=$(sed 's/.*) //' "/proc/$up/stat" 2>/dev/null | cut -d' ' -f2)
    done
    for proc in /proc/[0-9]*; do
        pid=${proc#/proc/}
        case $mine in *" $pid "*) continue ;; esac
        grep -qzxF "SLURM_CONF=$1/etc/slurm.conf" "$proc/environ" 2>/dev/null || continue
        echo "$pid $(start_time "$pid")"
    done
}

# Ends everything that a sandbox has started, whether its supervisor is alive or not.
stop_sandbox() { # DIR, after read_conf
    local list=$1/run/stop child children=()
    mkdir -p "$1/run"
    if [ "$mode" = netns ]; then
        # The supervisor's child is pid 1 of the namespace; everything in the namespace ends with
        # it.
        if is_running; then
            echo "$holder $holder_start" >"$list"
            read -ra children <"/proc/$holder/task/$holder/children" || true
            for child in "${children[@]}"; do
                echo "$child $(start_time "$child")" >>"$list"
            done
            signal_all KILL "$list"
            wait_gone "$list" || die 1 "the sandbox in $1 did not end; these processes remain: $(cat "$list")"
        fi
    elif [ "$boot" = "$(boot_id)" ]; then
        echo "$holder $holder_start" >"$list"
        list_members "$1" >>"$list"
        signal_all TERM "$list"
        wait_gone "$list" || signal_all KILL "$list"
        list_members "$1" >"$list" # steps that were starting
        signal_all KILL "$list"
        wait_gone "$list" || die 1 "the sandbox in $1 did not end; these processes remain: $(cat "$list")"
    fi
    rm -rf "$1/sandbox.conf" "$1/run"
}
