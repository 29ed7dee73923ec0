#!/bin/bash
# Run {{run}} of study {{study}}, attempt {{attempt}}: what each rank executes.
# Written by `unetctl generate`; submit_file.sh starts it once per rank.
visible=${CUDA_VISIBLE_DEVICES-}
{{setup}}
# Ranks talk to each other directly; a proxy would swallow that. One that env names stays.
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy
unset HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
{{env}}
# Beside other runs in a job, a list of the site's would hide which GPUs are this run's.
if [ -n "${UNETCTL_ALLOCATION:+$visible}" ] && [ -n "$CUDA_VISIBLE_DEVICES" ]; then
    CUDA_VISIBLE_DEVICES=$visible
fi
set -eu

# Which rank this is, in the order of the launcher's ranks, one "NAME=VALUE" a line: RANK,
# WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT; and where it sees
# more GPUs than those of its run, or of its own, CUDA_VISIBLE_DEVICES.
ranks=$({{unetctl|sh}} spec{{spec}} --format env)
while IFS= read -r line; do export "${line?}"; done <<<"$ranks"

# Where the script finds its data and leaves its log.
{{variables}}

cd {{run_dir|sh}}
[ -z "${UNETCTL_ALLOCATION:-}" ] || echo "$SLURM_STEP_NODELIST" >attempt-{{attempt}}/step-nodes
[ -z "${UNETCTL_GPUS_SEEN:-}" ] || echo "$UNETCTL_GPUS_SEEN" >attempt-{{attempt}}/gpus-seen
{{energy}}
start=exec
case $UNETCTL_ENGINE in
tensorflow)
    TF_CONFIG=$({{unetctl|sh}} spec{{spec}})
    export TF_CONFIG TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-1}"
    ;;
pytorch) export TORCHELASTIC_RUN_ID=$UNETCTL_START ;; # by which Lightning starts no ranks itself
mpi | command) # an application for computing time shows where the threads ran
    if [ "$UNETCTL_SEED" = 1 ] && [ -z "${OMP_DISPLAY_AFFINITY+set}" ]; then
        export OMP_DISPLAY_AFFINITY=TRUE
        export OMP_AFFINITY_FORMAT='OpenMP affinity: %H, process %P, thread %n on CPUs %A'
    fi
    ;;
jax) export JAX_COORDINATOR_ADDRESS=$MASTER_ADDR:$MASTER_PORT ;;
torchrun) # the first rank of a node starts all of them; the others wait until they have ended
    ended=$UNETCTL_ATTEMPT_DIR/.ended-$GROUP_RANK-${UNETCTL_START##*-}
    if [ "$LOCAL_RANK" != 0 ]; then
        until [ -s "$ended" ]; do sleep 0.2; done
        exit "$(cat "$ended")"
    fi
    taskset -apc "0-$(($(nproc --all) - 1))" $$ >/dev/null 2>&1 || : # the CPUs of all of them
    trap 'echo "$?" >"$ended"' EXIT
    start=
    ;;
esac
$start {{command}}
