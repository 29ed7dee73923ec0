#!/bin/bash
{{directives}}
# Runs of study {{study}} inside one job, as many side by side as its GPUs hold, the largest first.
# Written by `unetctl submit --one-allocation`. Each run's own submit_file.sh starts its ranks and
# says how it ended; a run that fails does not stop the others.
set -u
cd {{study_dir|sh}} || exit 1
export UNETCTL_ALLOCATION={{allocation}} # a run must not requeue a job that it shares
free={{gpus}}
waiting=( # GPUS RUN ATTEMPT
{{runs}}
)
# Ranks of two runs may share a node: each run has its own ports.
port={{port_base}}

declare -A gpus_of=() attempt_of=() # by process
stopped_by=''
signal_all() { # SIGNAL: to all runs
    local pid
    stopped_by=$1
    for pid in "${!gpus_of[@]}"; do kill -s "$1" "$pid" 2>/dev/null; done
}
trap 'signal_all USR1' USR1
trap 'signal_all TERM' TERM INT

ended() { # ATTEMPT: done, failed, cancelled, or replaced by the next attempt
    [ -e "$1/DONE" ] || [ -e "$1/FAILED" ] || [ -e "$1/.cancel" ] ||
        [ -e "${1%-*}-$((${1##*-} + 1))" ]
}

# A controller that was killed may have forgotten steps that still run, and may list steps that have
# ended: a new step could get number and GPUs of the former, or wait for those of the latter. After
# each start of the controller nothing begins until the former have ended; the latter are
# cancelled, and if Slurm lists them even so, their GPUs do not count any more.
declare -A gpus_of_run=() said=()
checked=''
say() { echo "$(date -u +%FT%TZ) $*"; }
running_runs() { # their names
    local attempt
    for attempt in "${attempt_of[@]}"; do
        attempt=${attempt#runs/}
        echo "${attempt%%/*}"
    done
}
forgotten() { # STEPS: true if a run has none of these
    local run any=1
    for run in $(running_runs); do
        if grep -q " $run\$" <<<"$1"; then continue; fi
        any=0
        if [ -z "${said[$run]:-}" ]; then
            say "$run runs, but Slurm, restarted, does not list its step: nothing else starts" \
                "before it has ended"
        fi
        said[$run]=yes
    done
    return $any
}
left_over() { # STEPS: true if one of these, of a run that has ended, was cancelled just now
    local id run any=1
    while read -r id run; do
        if [ -z "${gpus_of_run[$run]:-}" ] || running_runs | grep -qx "$run"; then continue; fi
        case ${said[$id]:-} in
        '')
            any=0 said[$id]=cancelled
            say "$run has ended, but Slurm, restarted, lists its step $id, which is cancelled"
            scancel "$id"
            ;;
        cancelled)
            free=$((free - gpus_of_run[$run])) said[$id]=kept
            say "Slurm keeps the GPUs of step $id: ${gpus_of_run[$run]} less for other runs"
            ;;
        esac
    done <<<"$1"
    return $any
}
agrees() { # does Slurm know the steps that run, and no others?
    local now steps
    now=$(scontrol show config 2>/dev/null | sed -n 's/^BOOT_TIME *= *//p')
    if [ -z "$now" ]; then [ -z "$checked" ]; return; fi # no answer now, or never
    if [ "$now" = "${checked:=$now}" ]; then return 0; fi
    steps=$(squeue -h -s -j "$SLURM_JOB_ID" -o '%i %j') || return 1
    if left_over "$steps" || forgotten "$steps"; then return 1; fi
    checked=$now
}
start() { # INDEX GPUS RUN ATTEMPT
    local attempt=runs/$3/attempt-$4
    local output=$attempt/slurm-$SLURM_JOB_ID.out
    if ended "$attempt"; then return; fi
    if [ -L "$attempt" ] || [ -L "$output" ] || { [ -e "$output" ] && [ ! -f "$output" ]; }; then
        say "$3 is left out: $attempt or $output is a symbolic link, or no regular file; remove it"
        return
    fi
    say "$3 starts on $2 of $free free GPUs"
    gpus_of_run[$3]=$2
    UNETCTL_PORT_BASE=$((port + {{gpus_per_node}} * $1)) "runs/$3/submit_file.sh" \
        >>"$output" 2>&1 &
    gpus_of[$!]=$2 attempt_of[$!]=$attempt
    free=$((free - $2))
}
start_what_fits() {
    local i gpus run attempt
    held=''
    for i in "${!waiting[@]}"; do
        read -r gpus run attempt <<<"${waiting[i]}"
        if [ "$gpus" -gt "$free" ]; then continue; fi
        if ! agrees; then
            held=yes
            return
        fi
        if [ "$gpus" -gt "$free" ]; then continue; fi
        unset "waiting[i]"
        start "$i" "$gpus" "$run" "$attempt"
    done
}
reap() {
    local pid alive code
    alive=" $(jobs -rp | tr '\n' ' ') "
    for pid in "${!gpus_of[@]}"; do
        case $alive in
        *" $pid "*) if [ -e "${attempt_of[$pid]}/.cancel" ]; then kill -s TERM "$pid"; fi ;;
        *)
            wait "$pid"
            code=$?
            say "${attempt_of[$pid]} ended with exit code $code"
            free=$((free + gpus_of[$pid]))
            unset "gpus_of[$pid]" "attempt_of[$pid]"
            ;;
        esac
    done
}

clock='' held=''
while :; do
    if [ -z "$stopped_by" ]; then start_what_fits; fi
    if [ ${#gpus_of[@]} = 0 ] && { [ -z "$held" ] || [ -n "$stopped_by" ]; }; then break; fi
    # A run may be cancelled meanwhile: look for that every few seconds.
    if [ -z "$clock" ] || ! kill -0 "$clock" 2>/dev/null; then
        sleep 3 &
        clock=$!
    fi
    wait -n # a signal ends it, too
    reap
done
if [ -n "$clock" ]; then kill "$clock" 2>/dev/null; fi

left=0
for entry in {{all}}; do
    if ! ended "$entry"; then left=$((left + 1)); fi
done
if [ "$left" = 0 ]; then exit 0; fi
echo "$left runs are not finished" >&2
if [ "$stopped_by" = USR1 ]; then
    if [ "${SLURM_RESTART_COUNT:-0}" -ge {{requeues}} ]; then
        echo "slurm.requeues allows {{requeues}} restarts; 'unetctl resume' continues" >&2
    elif ! scontrol requeue "$SLURM_JOB_ID"; then
        echo "Slurm does not requeue this job; 'unetctl resume' continues" >&2
    fi
fi
exit 75
