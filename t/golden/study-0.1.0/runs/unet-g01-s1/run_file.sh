#!/bin/bash
# Run unet-g01-s1 of study study, attempt 1: what each rank executes.
# Written by `unetctl generate`; submit_file.sh starts it once per rank.
export OMP_WAIT_POLICY=passive
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
set -eu

# Ranks talk to each other directly; a proxy would swallow that.
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy
unset HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY

# Which rank this is and where the others are, from what the scheduler says here and now.
TF_CONFIG=$(/opt/unetctl/bin/unetctl spec --nodelist "$(uname -n)" --tasks-per-node 1 --rank "${OMPI_COMM_WORLD_RANK:-0}")
export TF_CONFIG

cd /srv/unetctl-study/runs/unet-g01-s1
exec /opt/unetctl/bin/unet-train train --run run.json --out attempt-1
