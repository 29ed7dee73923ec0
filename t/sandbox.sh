# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by tests that need a real Slurm: a private sandbox, gone when the test ends.
#
#   sandbox_up [OPTIONS OF unetctl sandbox up]    the file is skipped where Slurm is missing
#   login COMMAND...                              runs it as on the sandbox's login node
#   sandbox_pgrep FOLDER OPTIONS OF pgrep         processes at work in FOLDER or below, as it
#                                                 numbers them: a flat one shares the machine with
#                                                 others
#   sandbox_stop_controller                       false if it does not end; $sandbox_controller has
#                                                 its process
#   $sandbox_helper                               the program through which unetctl asks Slurm, as
#                                                 /proc/PID/comm has it
#   wait_job ID SECONDS                           until Slurm says that it ended; prints its state
#   sandbox_restart_controller NODES              with slurm.conf as it is now; false if the NODES
#                                                 do not come back
#   sandbox_open                                  root's, for other users that root starts in it:
#                                                 their jobs run as themselves
#   sandbox_start_requeued                        requeued jobs wait 20 seconds, in which what is
#                                                 left of their first start ends, not two minutes
#   sandbox_preempts MODE NODES                   from now on jobs of the partition short take nodes
#                                                 from those of main, which Slurm ends as MODE says:
#                                                 CANCEL or REQUEUE; likewise

sandbox_helper=unetctl-slurm
if [ "${UNETCTL_SLURM_INTERFACE:-}" = commands ] || [ ! -x "${builddir:?}/unetctl-slurm" ]; then
    # shellcheck disable=SC2034 # for tests
    sandbox_helper=squeue
fi

sandbox_up() {
    local program
    for program in slurmctld slurmd munged srun; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip_all "$program is not installed"
    done
    cleanup_hooks+=(sandbox_down)
    unset UNET_GPUS # its jobs have it by themselves
    export UNETCTL_MARKER_S=5 # its markers are visible at once
    if ! unetctl sandbox up --mode "${SANDBOX_MODE:-auto}" "$@" >"$OUT" 2>"$ERR"; then
        diag <"$ERR"
        echo "Bail out! no sandbox: $(paste -sd " " "$ERR")"
        exit 255
    fi
}
sandbox_down() { unetctl sandbox down >/dev/null; }
login() { unetctl sandbox exec -- "$@"; }
sandbox_pgrep() {
    # shellcheck disable=SC2016 # expanded there
    login bash -c 'for p in $(pgrep "${@:2}"); do
        case $(readlink "/proc/$p/cwd")/ in "$1"/*) echo "$p" ;; esac
    done' - "$@"
}
sandbox_is_gone() { ! login grep -qs . "/proc/$1/cmdline"; } # PROCESS; a zombie is gone

job_state() { login scontrol -o show job "$1" | sed 's/.* JobState=\([A-Z_]*\) .*/\1/'; }
job_ended() {
    case $(job_state "$1") in
        PENDING | RUNNING | COMPLETING | CONFIGURING | SUSPENDED | "") return 1 ;;
    esac
}
wait_job() {
    wait_until "$2" job_ended "$1"
    job_state "$1"
}

sandbox_is_idle() { [ "$(login sinfo -h -p main -t idle -o %D)" = "$1" ]; } # NODES
sandbox_controller=$XDG_STATE_HOME/unetctl/sandbox/run/slurmctld.pid
sandbox_stop_controller() {
    local process
    process=$(login cat "$sandbox_controller")
    login kill "$process" && wait_until 20 sandbox_is_gone "$process"
}
sandbox_restart_controller() {
    sandbox_stop_controller && login slurmctld -i && wait_until 60 sandbox_is_idle "$1"
}
sandbox_start_requeued() {
    local id start
    while read -r id start; do
        if [ "$(date -d "$start" +%s)" -gt $(($(date +%s) + 30)) ]; then
            login scontrol update "JobId=$id" StartTime=now+20
        fi
    done < <(login squeue -h -t PD -o '%i %r %S' | awk '$2 == "BeginTime" { print $1, $3 }')
}
sandbox_open() {
    local dir=$XDG_STATE_HOME/unetctl/sandbox
    chmod a+x "$TMP" "$HOME" "$XDG_STATE_HOME" "$XDG_STATE_HOME/unetctl"
    find "$dir" -type d ! -name key ! -name state -exec chmod a+rx {} +
    chmod a+rX "$dir/sandbox.conf" "$dir"/etc/*
    sed -i 's/ AllowGroups=[^ ]*//' "$dir/etc/slurm.conf" # for a controller that restarts
    login scontrol update PartitionName=main AllowGroups=ALL &&
        login scontrol update PartitionName=short AllowGroups=ALL
}
sandbox_preempts() {
    local conf=$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf
    sed -i -e "s/^PartitionName=main .*/& PriorityTier=1 PreemptMode=$1/" \
        -e 's/^PartitionName=short .*/& PriorityTier=10 PreemptMode=OFF/' "$conf"
    printf 'PreemptType=preempt/partition_prio\nPreemptMode=%s\n' "$1" >>"$conf"
    sandbox_restart_controller "$2"
}
