#!/bin/bash
# Run {{run}} of study {{study}}, attempt {{attempt}}: what each rank executes.
# Written by `unetctl generate`; submit_file.sh starts it once per rank.
{{setup}}
{{env}}
set -eu

# Ranks talk to each other directly; a proxy would swallow that.
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy
unset HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY

# Which rank this is and where the others are, from what the scheduler says here and now: TF_CONFIG,
# and RANK, WORLD_SIZE, LOCAL_RANK ... one "NAME=VALUE" a line.
TF_CONFIG=$({{unetctl|sh}} spec{{spec}})
ranks=$({{unetctl|sh}} spec{{spec}} --format env)
while IFS= read -r line; do export "${line?}"; done <<<"$ranks"
export TF_CONFIG TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-1}"

# Where the script finds its data and leaves log.csv.
{{variables}}

cd {{run_dir|sh}}
exec {{command}}
