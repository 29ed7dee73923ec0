# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Roots of Debian releases, for check-distros and check-debian: both need root and debootstrap.
: "${srcdir:?}" "${builddir:?}"
top=$builddir/distros
shared=${UNETCTL_SHARED:-$srcdir/../shared}

need_root() { # TARGET
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
        echo "$1: needs root and debootstrap (Debian: apt-get install debootstrap)" >&2
        exit 77
    fi
    mkdir -p "$top"
}

# Debian's archive as this machine's own sources have it; debootstrap has a default.
# shellcheck disable=SC2016 # apt-get expands it
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Component: main' \
    2>/dev/null | head -n 1; }

make_root() { # ROOT SUITE
    local root=$top/$1 known=()
    if [ -n "${DISTROS_FRESH:-}" ]; then rm -rf "$root"; fi
    [ ! -e "$root/etc/debian_version" ] || return 0
    # A release that is younger than debootstrap is made as the others are.
    [ -e "/usr/share/debootstrap/scripts/$2" ] ||
        known=("$(mirror)" /usr/share/debootstrap/scripts/sid)
    rm -rf "$root" "$root.new"
    debootstrap --variant=minbase --include=ca-certificates "$2" "$root.new" \
        ${known[@]+"${known[@]}"} || return 1
    # The archive's index may be older than this machine's clock takes for valid.
    echo 'Acquire::Check-Valid-Until "false";' >"$root.new/etc/apt/apt.conf.d/90check-distros"
    mv "$root.new" "$root"
}

# In a root of its own, not a chroot: the kernel then lets sandboxes make namespaces there.
# shellcheck disable=SC2016 # expanded there
enter='
    root=$1 shared=$2
    if [ -n "$4" ]; then
        mount -t overlay -o "lowerdir=$4,upperdir=$root.layer,workdir=$root.work" overlay "$root"
    else
        mount --bind "$root" "$root"
    fi && cd "$root" || exit 1
    mkdir -p src shared host
    mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys || exit 1
    [ ! -d "$shared" ] || mount --bind -o ro "$shared" shared
    cp -L /etc/resolv.conf /etc/hosts etc/
    pivot_root . host && umount -l /host || exit 1
    cd /src || exit 1
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI="$CI" TESTS="$TESTS" \
        ${JOBS:+"JOBS=$JOBS"} UNETCTL_SHARED=/shared UNETCTL_OLDER_SLURM=/older-slurm \
        bash -c "$3" & # and this shell reaps what daemons leave
    wait $!'
in_root() { # ROOT COMMAND [LOWER]: with LOWER, ROOT is a layer above that root
    CI=${CI:-} TESTS=${TESTS:-} JOBS=${JOBS:-} unshare --mount --pid --fork --propagation private \
        bash -c "$enter" bash "$top/$1" "$shared" "$2" "${3:+$top/$3}"
}

make_layer() { # ROOT: an empty one
    rm -rf "${top:?}/$1" "$top/$1.layer" "$top/$1.work"
    mkdir -p "$top/$1" "$top/$1.layer/src" "$top/$1.work"
}

step() { # ROOT NAME COMMAND [LOWER]
    local start=$SECONDS log=$top/$1-$2.log
    if in_root "$1" "$3" "${4:-}" >"$log" 2>&1; then
        echo "ok, $((SECONDS - start)) s"
    else
        echo "FAILED, see $log"
        false
    fi
}
