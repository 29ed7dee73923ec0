#!/bin/bash
# Run command-g01-s1 of study study, attempt 1: what each rank executes.
# Written by `unetctl generate`; submit_file.sh starts it once per rank.
export OMP_WAIT_POLICY=passive
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
set -eu

# Ranks talk to each other directly; a proxy would swallow that.
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy
unset HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY

# Which rank this is, in the order of the launcher's ranks, one "NAME=VALUE" a line: RANK,
# WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT.
ranks=$(/opt/unetctl/bin/unetctl spec --nodelist "$(uname -n)" --tasks-per-node 1 --rank "${OMPI_COMM_WORLD_RANK:-0}" --format env)
while IFS= read -r line; do export "${line?}"; done <<<"$ranks"

# Where the script finds its data and leaves log.csv.
export UNETCTL_STUDY_DIR=/srv/unetctl-study
export UNETCTL_RUN=command-g01-s1
export UNETCTL_RUN_DIR=/srv/unetctl-study/runs/command-g01-s1
export UNETCTL_ATTEMPT=1
export UNETCTL_ATTEMPT_DIR=/srv/unetctl-study/runs/command-g01-s1/attempt-1
export UNETCTL_RESUME_DIR=''
export UNETCTL_ENGINE=command
export UNETCTL_SEED=1
export UNETCTL_GPUS=1
export UNETCTL_NODES=1
export UNETCTL_TASKS=1
export UNETCTL_TASK_GPUS=1
export UNETCTL_DATA_DIR=/srv/unetctl-study/data
export UNETCTL_SPLIT=/srv/unetctl-study/split.json
export UNETCTL_TRAIN_EPOCHS=30
export UNETCTL_TRAIN_BATCH_PER_GPU=4
export UNETCTL_TRAIN_LR=0.1
export UNETCTL_RUN_JSON=/srv/unetctl-study/runs/command-g01-s1/run.json

cd /srv/unetctl-study/runs/command-g01-s1
exec /srv/unetctl-study/train.sh
