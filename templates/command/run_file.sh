#!/bin/bash
# Run {{run}} of study {{study}}, attempt {{attempt}}: what each rank executes.
# Written by `unetctl generate`; submit_file.sh starts it once per rank.
{{setup}}
{{env}}
set -eu

# Ranks talk to each other directly; a proxy would swallow that.
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy
unset HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY

# Which rank this is, in the order of the launcher's ranks, one "NAME=VALUE" a line: RANK,
# WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT.
ranks=$({{unetctl|sh}} spec{{spec}} --format env)
while IFS= read -r line; do export "${line?}"; done <<<"$ranks"

# Where the script finds its data and leaves log.csv.
{{variables}}

cd {{run_dir|sh}}
exec {{command}}
