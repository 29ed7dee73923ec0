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

# Which rank this is and where the others are, from what the scheduler says here and now.
TF_CONFIG=$({{unetctl|sh}} spec{{spec}})
export TF_CONFIG

cd {{run_dir|sh}}
[ -z "${UNETCTL_ALLOCATION:-}" ] || echo "$SLURM_STEP_NODELIST" >attempt-{{attempt}}/step-nodes
{{energy}}
exec {{command}}
