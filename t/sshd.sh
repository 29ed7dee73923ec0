# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by tests that need another host: an sshd of this user's own on the loopback
# address, with keys and configuration in $TMP/ssh, which `ssh cluster` reaches. Commands run there
# with $there as home, by the shell that $TMP/ssh/shell names, after the lines of $TMP/ssh/limits.
#
#   sshd_up             starts it, or skips the whole file with the reason
#   sshd_cut HERE THERE COMMAND...
#                       kills the connection when the ledger of the study has up to 4 lines more,
#                       or has none more after 10 s; returns the command's exit code

there=$TMP/there
sshd_up() {
    local dir=$TMP/ssh sshd=/usr/sbin/sshd port
    [ -x $sshd ] || skip_all "no sshd (openssh-server)"
    [ -n "$(command -v rsync)" ] || skip_all "no rsync"
    mkdir -p "$dir" "$there" "$TMP/bin" "$TMP/run"
    export XDG_RUNTIME_DIR=$TMP/run
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/user"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$dir/login" <<END
cd "$there" && export HOME=\$PWD XDG_STATE_HOME="$there/state" XDG_CONFIG_HOME="$there/config" \
    LC_ALL=C UNET_GPUS=fake PATH="$PATH"
shell=\$(cat "$dir/shell")
[ ! -e "$dir/limits" ] || . "$dir/limits"
exec "\$shell" -c "\$SSH_ORIGINAL_COMMAND"
END
    echo sh >"$dir/shell"
    cat >"$dir/sshd_config" <<END
ListenAddress 127.0.0.1:$port
ListenAddress 127.0.0.2:$port
HostKey $dir/host
PidFile none
AuthorizedKeysFile $dir/user.pub
ForceCommand sh "$dir/login"
AuthenticationMethods publickey
PermitRootLogin yes
StrictModes no
UsePAM no
MaxStartups 100
LogLevel VERBOSE
END
    echo "[127.0.0.1]:$port,[127.0.0.2]:$port $(cat "$dir/host.pub")" >"$dir/known_hosts"
    cat >"$dir/config" <<END
Host cluster stranger
Port $port
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile $dir/known_hosts
GlobalKnownHostsFile /dev/null
Host cluster
HostName 127.0.0.1
IdentityFile $dir/user
Host stranger
HostName 127.0.0.2
IdentityFile $dir/host
Host closed
HostName 127.0.0.1
Port 1
END
    # The user's own configuration is that of this file.
    printf '#!/bin/sh\nexec %s -F "%s/config" "$@"\n' "$(command -v ssh)" "$dir" >"$TMP/bin/ssh"
    chmod +x "$TMP/bin/ssh"
    PATH=$TMP/bin:$PATH
    if [ "$(id -u)" = 0 ] && mkdir /run/sshd 2>/dev/null; then # sshd of root needs it, empty
        cleanup_hooks+=(sshd_rmdir)
    fi
    $sshd -D -e -f "$dir/sshd_config" 2>"$dir/log" &
    sshd_pid=$!
    cleanup_hooks=(sshd_down ${cleanup_hooks[@]+"${cleanup_hooks[@]}"})
    wait_until 10 ssh cluster true || skip_all "sshd refuses this user: $(tail -n 1 "$dir/log")"
}
sshd_rmdir() { rmdir /run/sshd; }
# Prints the processes of connections: ssh's masters, and sshd's children.
sshd_connections() {
    local socket
    for socket in "$XDG_RUNTIME_DIR"/unetctl/*; do
        [ ! -S "$socket" ] || ssh -O check -S "$socket" cluster 2>&1 |
            sed -n 's/.*(pid=\([0-9]*\)).*/\1/p'
    done
    pgrep -P "$sshd_pid"
}
sshd_cut() {
    local ledger=$2/.unetctl/ledger.jsonl pids pid lines before end=$((SECONDS + 10))
    unetctl status -C "$1" >/dev/null 2>&1 # opens it
    mapfile -t pids < <(sshd_connections)
    mapfile -t lines < <(cat "$ledger" 2>/dev/null)
    before=$((${#lines[@]} + RANDOM % 4))
    "${@:3}" >"$TMP/cut.out" 2>&1 &
    pid=$!
    until [ ${#lines[@]} -gt $before ] || [ $SECONDS -ge $end ] || ! kill -0 $pid 2>/dev/null; do
        sleep 0.01
        [ ! -e "$ledger" ] || mapfile -t lines <"$ledger"
    done
    kill -s KILL "${pids[@]}" 2>/dev/null
    wait $pid
}
sshd_down() {
    local pids
    mapfile -t pids < <(sshd_connections)
    kill "$sshd_pid" ${pids[@]+"${pids[@]}"} 2>/dev/null
}
