# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by tests of two versions of unetctl.
#
#   later_build VERSION DIR      the programs of this tree, built with another version number, in
#                                DIR; the file is skipped where that cannot be
#   later_install FROM PREFIX    puts the programs of a build into PREFIX, as a package manager
#                                does: running ones keep their files

later_build() {
    local version=$1 dir=$2 source objects=() programs=(unetctl unet-train)
    [ "$(cd "${srcdir:?}" && pwd -P)" = "$(cd "${builddir:?}" && pwd -P)" ] ||
        skip_all "not built in its source tree, which is what is copied"
    command -v make >/dev/null || skip_all "make is not installed"
    mkdir -p "$dir"
    (cd "$builddir" && {
        find src launcher trainer templates m4 build-aux completion -type f -not -path '*/test/*'
        find src launcher trainer t bench -type f \
            \( -name '*.inc' -o -name '*.Po' -o -name .dirstamp \)
        printf '%s\n' Makefile* configure* config.* aclocal.m4 stamp-h1 *.a unetctl unet-train
        if [ -e unetctl-slurm ]; then echo unetctl-slurm; fi
    } | sort -u | tar --create --files-from=-) | tar --extract --directory="$dir"

    # Only what has the version in it is built again; make decides by the times of files.
    cp -p "$dir/config.h" "$dir/config.h.was"
    sed -i "s/^#define PACKAGE_VERSION .*/#define PACKAGE_VERSION \"$version\"/" "$dir/config.h"
    touch -r "$dir/config.h.was" "$dir/config.h"
    while read -r source; do
        objects+=(-o -name "$(basename "$source" .c).o" -path "*/$(dirname "$source")/*")
        objects+=(-o -name "*-$(basename "$source" .c).o" -path "*/$(dirname "$source")/*")
    done < <(cd "$dir" && grep -rl --include='*.c' PACKAGE_VERSION src launcher trainer)
    find "$dir" -type f \( -false "${objects[@]}" \) -exec rm {} +
    if [ -e "$dir/unetctl-slurm" ]; then programs+=(unetctl-slurm); fi
    ok "$version is built" make -s -C "$dir" -j2 "${programs[@]}"
    is "$("$dir/unetctl" --version) $("$dir/unet-train" --version)" \
        "unetctl $version unet-train $version" "and says so"
}

later_install() {
    local from=$1 prefix=$2 program
    mkdir -p "$prefix/bin" "$prefix/libexec/unetctl" "$prefix/share/unetctl"
    for program in unetctl unet-train unetctl-slurm; do
        if [ ! -e "$from/$program" ]; then continue; fi
        cp "$from/$program" "$prefix/new"
        case $program in
        unetctl-slurm) mv "$prefix/new" "$prefix/libexec/unetctl/$program" ;;
        *) mv "$prefix/new" "$prefix/bin/$program" ;;
        esac
    done
    cp -r "${srcdir:?}/templates" "$prefix/share/unetctl/"
}
