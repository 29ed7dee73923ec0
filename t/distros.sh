#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make check-distros: README's two commands in roots of other Debian releases, then a table. Needs
# root and debootstrap. A root is kept below distros/ for the next time; DISTROS_FRESH=1 makes it
# anew. DISTROS="trixie forky" chooses releases, TESTS and JOBS as for make check. Debian 12's root
# gives those behind it a helper that is too old for their Slurm (t2010).
set -u
: "${srcdir:?}" "${builddir:?}"
suites=${DISTROS:-bookworm trixie forky}
top=$builddir/distros
shared=${UNETCTL_SHARED:-$srcdir/../shared}
rc=0

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "check-distros: needs root and debootstrap (Debian: apt-get install debootstrap)" >&2
    exit 77
fi

# Debian's archive as this machine's own sources have it; debootstrap has a default.
# shellcheck disable=SC2016 # apt-get expands it
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Component: main' \
    2>/dev/null | head -n 1; }

make_root() { # SUITE
    local root=$top/$1 known=()
    if [ -n "${DISTROS_FRESH:-}" ]; then rm -rf "$root"; fi
    [ ! -e "$root/etc/debian_version" ] || return 0
    # A release that is younger than debootstrap is made as the others are.
    [ -e "/usr/share/debootstrap/scripts/$1" ] ||
        known=("$(mirror)" /usr/share/debootstrap/scripts/sid)
    rm -rf "$root" "$root.new"
    debootstrap --variant=minbase --include=ca-certificates "$1" "$root.new" \
        ${known[@]+"${known[@]}"} || return 1
    # The archive's index may be older than this machine's clock takes for valid.
    echo 'Acquire::Check-Valid-Until "false";' >"$root.new/etc/apt/apt.conf.d/90check-distros"
    mv "$root.new" "$root"
}

# In a root of its own, not a chroot: the kernel then lets sandboxes make namespaces there.
# shellcheck disable=SC2016 # expanded there
enter='
    root=$1 shared=$2
    mount --bind "$root" "$root" && cd "$root" || exit 1
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
in_root() { # SUITE COMMAND
    CI=${CI:-} TESTS=${TESTS:-} JOBS=${JOBS:-} unshare --mount --pid --fork --propagation private \
        bash -c "$enter" bash "$top/$1" "$shared" "$2"
}

copy_source() { # SUITE: what a clone has
    local dst=$top/$1/src
    rm -rf "$dst"
    mkdir -p "$dst"
    (cd "$srcdir" && git ls-files -z | xargs -0 tar -cf - --) | tar -xf - -C "$dst"
}

# A helper of Debian 12's Slurm with its library, which looks for plugins beside it.
give_older_slurm() { # SUITE
    local from=/usr/lib/x86_64-linux-gnu to=$top/$1/older-slurm base=$top/bookworm
    rm -rf "$to"
    [ "$1" != bookworm ] && [ -x "$base/src/unetctl-slurm" ] || return 0
    mkdir "$to"
    cp "$base/src/unetctl-slurm" "$base$from/libjansson.so.4" "$to"
    cp -r "$base$from/slurm-wlm" "$to/plugins"
    # As long as the path that it replaces.
    sed "s|$from/slurm-wlm|/older-slurm////////////////plugins|g" "$base$from/libslurm.so.38" \
        >"$to/libslurm.so.38"
}

step() { # SUITE NAME COMMAND
    local start=$SECONDS log=$top/$1-$2.log
    if in_root "$1" "$3" >"$log" 2>&1; then
        echo "ok, $((SECONDS - start)) s"
    else
        rc=1
        echo "FAILED, see $log"
    fi
}

# Versions of packages as the root has them.
version() { # SUITE PACKAGE
    in_root "$1" "dpkg-query -W -f '\${Version}' $2 2>/dev/null" | sed 's/^[0-9]*://; s/[-+~].*//'
}

# What only [check] of packages.debian names, and yet is there.
# shellcheck disable=SC2016 # expanded there
test_only='comm -12 <(sed -n "/^\[check]/,\$p" packages.debian | grep "^[a-z]" | sort) \
    <(dpkg-query -W -f "\${Package}\n" | sort) | grep -vxE "perl|git" | xargs'

mkdir -p "$top"
rows=("release|gcc|Slurm|Open MPI|./bootstrap|make demo|make check")
for suite in $suites; do
    fresh=yes
    [ ! -e "$top/$suite/etc/debian_version" ] || [ -n "${DISTROS_FRESH:-}" ] || fresh=no
    if ! make_root "$suite" >"$top/$suite-debootstrap.log" 2>&1; then
        rows+=("$suite|debootstrap failed, see $top/$suite-debootstrap.log")
        rc=1
        continue
    fi
    copy_source "$suite"
    give_older_slurm "$suite"
    boot=$(step "$suite" bootstrap ./bootstrap)
    demo=$(step "$suite" demo 'make demo DEMO_EPOCHS=3')
    extra=$([ $fresh = no ] || in_root "$suite" "$test_only")
    if [ -n "$extra" ]; then
        demo+=", but these are for tests only: $extra"
        rc=1
    fi
    check=$(step "$suite" check 'make check')
    check+=": $(grep -E '^[0-9]+ passed, ' "$top/$suite-check.log" | tail -n 1)"
    rows+=("$suite|$(version "$suite" gcc)|$(version "$suite" slurmctld)|$(version "$suite" openmpi-bin)|$boot|$demo|$check")
done
printf '%s\n' "${rows[@]}" | column -t -s '|'
exit $rc
