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
if [ -z "$port" ]; then port=$((12000 + SLURM_JOB_ID % 1000)); fi

declare -A gpus_of=() attempt_of=() # by process
stopped_by=''
signal_all() { # SIGNAL: to all runs
    local pid
    stopped_by=$1
    for pid in "${!gpus_of[@]}"; do kill -s "$1" "$pid" 2>/dev/null; done
}
trap 'signal_all USR1' USR1
trap 'signal_all TERM' TERM INT

ended() { # ATTEMPT: done, failed, or cancelled
    [ -e "$1/DONE" ] || [ -e "$1/FAILED" ] || [ -e "$1/.cancel" ]
}
start() { # INDEX GPUS RUN ATTEMPT
    local attempt=runs/$3/attempt-$4
    if ended "$attempt"; then return; fi
    echo "$(date -u +%FT%TZ) $3 starts on $2 of $free free GPUs"
    UNETCTL_PORT_BASE=$((port + {{gpus_per_node}} * $1)) "runs/$3/submit_file.sh" \
        >>"$attempt/slurm-$SLURM_JOB_ID.out" 2>&1 &
    gpus_of[$!]=$2 attempt_of[$!]=$attempt
    free=$((free - $2))
}
start_what_fits() {
    local i gpus run attempt
    for i in "${!waiting[@]}"; do
        read -r gpus run attempt <<<"${waiting[i]}"
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
            echo "$(date -u +%FT%TZ) ${attempt_of[$pid]} ended with exit code $code"
            free=$((free + gpus_of[$pid]))
            unset "gpus_of[$pid]" "attempt_of[$pid]"
            ;;
        esac
    done
}

clock=''
while :; do
    if [ -z "$stopped_by" ]; then start_what_fits; fi
    if [ ${#gpus_of[@]} = 0 ]; then break; fi
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
