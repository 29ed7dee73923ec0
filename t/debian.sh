#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make check-debian: the packages of debian/ from the tarball, each step in a clean root of its own,
# then a table. Needs root and debootstrap.
#
#   build         as an ordinary user without a network, with what Build-Depends names and no more
#   again         in another folder, by another user: the packages are the same to the bit
#   lintian       no errors, no warnings
#   autopkgtest   debian/tests: the demo by the installed packages
#   piuparts      installed, removed, purged without a trace
#   cuda          where CUDA_HOME (/usr/local/cuda) has nvcc: unet-train-cuda as the alternative
#
# DISTROS="trixie" chooses releases, DEBIAN_STEPS="lintian" steps; packages of the last build are
# kept for those behind it, below distros/ as roots and logs are. DISTROS_FRESH=1 makes the roots
# anew. DEB_BUILD_OPTIONS=nocheck builds without tests.
set -u
# shellcheck source=t/roots.sh
. "${srcdir:?}/t/roots.sh"
cuda=${CUDA_HOME:-/usr/local/cuda}
steps="build again lintian autopkgtest piuparts"
[ ! -x "$cuda/bin/nvcc" ] || steps+=" cuda"
steps=${DEBIAN_STEPS:-$steps}
rc=0
need_root check-debian
version=$(sed -n 's/^PACKAGE_VERSION = //p' "$builddir/Makefile")
tarball=unetctl_$version.orig.tar.xz

# No services, no questions.
# shellcheck disable=SC2016 # expanded there
prepare='set -e
export DEBIAN_FRONTEND=noninteractive
printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get update -q
install() { apt-get install -y -q --no-install-recommends "$@"; }
'

# ip is there for the loopback interface of a place without a network.
# shellcheck disable=SC2016
build_in() { # FOLDER USER UMASK OPTIONS [PROFILE]
    printf '%s' "$prepare" \
        "folder=$1 user=$2 umask=$3 options='$4' profile='${5:+-P$5}' version=$version" '
install build-essential iproute2
apt-get build-dep -y -q --no-install-recommends "./unetctl-$version"
useradd -m "$user"
mkdir -p "$folder"
cp -r unetctl_* "unetctl-$version" "$folder"
chown -R "$user:" "$folder"
cd "$folder/unetctl-$version"
unshare --net bash -ec "
    ip link set lo up
    umask $umask
    runuser -u $user -- env DEB_BUILD_OPTIONS=\"parallel=$(nproc) $options\" \
        CUDA_HOME=/shared CUDA_ARCHS=80 dpkg-buildpackage -us -uc $profile"
cd ..
dpkg-deb --info "unetctl_$version"*.deb
find . -maxdepth 1 -type f -exec cp {} /src \;
'
}

# shellcheck disable=SC2016
alternatives='
is() { # cpu|cuda: what the alternative is, and says of itself
    readlink -f /usr/bin/unet-train | grep -x "/usr/bin/unet-train.$1"
    test "$1" = "$(unet-train devices --json |
        { grep -q "built without CUDA" && echo cpu || echo cuda; })"
}
install ./unet-train_*.deb
is cpu
install ./unet-train-cuda_*.deb
is cuda
dpkg --remove unet-train-cuda
is cpu
dpkg --remove unet-train
test ! -L /usr/bin/unet-train
'

command_of() { # STEP
    case $1 in
    build) build_in /build builder 022 "${DEB_BUILD_OPTIONS:-}" ;;
    again) build_in /var/tmp/another/folder other 077 nocheck ;;
    cuda)
        build_in /build builder 022 nocheck pkg.unetctl.cuda
        echo "$alternatives"
        ;;
    lintian)
        echo "$prepare install lintian
            useradd -m builder
            lintian --version
            runuser -u builder -- lintian --info --fail-on error,warning ./*.changes"
        ;;
    autopkgtest)
        echo "$prepare install autopkgtest dpkg-dev
            autopkgtest --no-built-binaries ./*.deb ./*.dsc -- null"
        ;;
    piuparts)
        echo "$prepare install piuparts
            piuparts --basetgz=base.tgz --keep-sources-list --no-eatmydata ./*.deb"
        ;;
    esac
}

same_packages() { # FOLDER FOLDER
    local file
    for file in "$1"/*.deb "$1"/*.dsc "$1"/*.debian.tar.*; do
        cmp "$file" "$2/${file##*/}" || return 1
    done
}

try() { # SUITE STEP
    local layer=debian-$1 packages=$top/packages-$1 shared=$shared
    [ "$2" != cuda ] || shared=$cuda
    make_layer "$layer"
    case $2 in
    build | again | cuda)
        cp "$top/$tarball" "$top/$layer.layer/src"
        tar -xf "$top/$tarball" -C "$top/$layer.layer/src"
        (cd "$srcdir" && git ls-files -z debian | xargs -0 tar -cf - --) |
            tar -xf - -C "$top/$layer.layer/src/unetctl-$version"
        ;;
    *) cp "$packages"/* "$top/$layer.layer/src" ;;
    esac
    if [ "$2" = piuparts ]; then
        tar -czf "$top/$layer.layer/src/base.tgz" -C "$top/clean-$1" .
    fi
    step "$layer" "$2" "$(command_of "$2")" "clean-$1" || return 1
    if [ "$2" = build ]; then
        rm -rf "$packages"
        mkdir "$packages"
        find "$top/$layer.layer/src" -maxdepth 1 -type f -exec cp {} "$packages" \;
    elif [ "$2" = again ]; then
        same_packages "$packages" "$top/$layer.layer/src" || return 1
    fi
    rm -rf "${top:?}/$layer" "$top/$layer.layer" "$top/$layer.work"
}

make -s -C "$builddir" dist >/dev/null || exit 1
mv "$builddir/unetctl-$version.tar.xz" "$top/$tarball"
rows=("release|${steps// /|}")
for suite in ${DISTROS:-bookworm trixie}; do
    row=$suite
    if ! make_root "clean-$suite" "$suite" >"$top/$suite-debootstrap.log" 2>&1; then
        rows+=("$suite|debootstrap failed, see $top/$suite-debootstrap.log")
        rc=1
        continue
    fi
    for name in $steps; do
        row+="|$(try "$suite" "$name")" && continue
        rc=1
        [ "$name" != build ] || break
    done
    rows+=("$row")
done
printf '%s\n' "${rows[@]}" | column -t -s '|'
exit $rc
