#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# packaging/spack/package.py with the Spack in PATH and its packages: style, audit, concretization
# with and without CUDA, and a build with this system's libraries.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/packaging/packaging.sh
. "$srcdir/t/packaging/packaging.sh"
command -v spack >/dev/null || skip_all "spack is not in PATH"
release

# As packaging/README.md says, with folders and settings of its own.
export SPACK_USER_CONFIG_PATH=$TMP/user SPACK_USER_CACHE_PATH=$TMP/cache
spack() { command spack -C "$TMP/config" "$@"; }
mkdir config
cat >config/config.yaml <<END
config:
  install_tree:
    root: $TMP/opt
  build_stage: $TMP/stage
  source_cache: $TMP/sources
END
exits 0 "spack repo create" spack repo create "$TMP/repo" unetctl
repo=$(dirname "$(find "$TMP/repo" -name repo.yaml)")
mkdir -p "$repo/packages/unetctl"
cp "$TMP/release/spack/package.py" "$repo/packages/unetctl"
printf 'repos:\n  unetctl: %s\n' "$repo" >config/repos.yaml
exits 0 "spack info" spack info unetctl
like "$OUT" "^ *$version +file://$TMP/source" "has this version, from where the release is"
exits 0 "spack audit" spack audit packages unetctl
is "$(grep -cvE ': passed$|^$' "$OUT")" 0 "finds nothing"

# ---- a build with this system's libraries; only Spack's wrapper of the compiler is built as well
external() { # NAME VERSION
    printf '  %s:\n    buildable: false\n    externals:\n    - spec: %s@%s\n      prefix: /usr\n' \
        "$1" "$1" "$2"
}
slurm_version() {
    sed -n 's/.*SLURM_VERSION_NUMBER 0x\(..\)\(..\)\(..\)/0x\1 0x\2 0x\3/p' \
        /usr/include/slurm/slurm_version.h | xargs printf '%d-%02d-%d-1\n'
}
{
    echo packages:
    while read -r name module; do
        external "$name" "$(pkg-config --modversion "$module")"
    done <<END
jansson jansson
libyaml yaml-0.1
cjson libcjson
nettle nettle
pcre2 libpcre2-8
libpng libpng
zlib zlib
libtiff libtiff-4
libjpeg-turbo libjpeg
openmpi ompi-c
END
    external slurm "$(slurm_version)"
    external librsvg "$(rsvg-convert --version | awk '{ print $3 }')"
    external pkgconf "$(pkg-config --version)"
    external gmake "$(make --version | sed -n '1s/.* //p')"
} >config/packages.yaml
exits 0 "spack spec" spack spec unetctl
is "$(grep -c '^\[e\].*\^\(jansson\|libyaml\|cjson\|nettle\|pcre2\|libpng\|zlib\|libtiff\|libjpeg-turbo\|openmpi\|'\
'slurm\|librsvg\)@' "$OUT")" 12 "takes this system's libraries"
exits 0 "spack spec +cuda" spack spec unetctl +cuda cuda_arch=80,90
like "$OUT" '\^nccl@.*cuda_arch:?=80,90' "NCCL for the same GPUs"
exits 1 "+cuda without an architecture" spack spec unetctl +cuda
like "$ERR" "Name the GPUs' architecture: cuda_arch=90" "is refused with what to type"
exits 0 "spack install" spack install unetctl
ok "the demo" demo_of "$(spack location -i unetctl)/bin"
done_testing
