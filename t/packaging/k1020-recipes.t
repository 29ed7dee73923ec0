#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recipes for conda, Spack and Apptainer, as far as they can be tried without their channels.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/packaging/packaging.sh"
packages_of_pypi py-rattler-build ruff
version=$(sed -n 's/^AC_INIT(\[unetctl\], \[\([^]]*\)\].*/\1/p' "$srcdir/configure.ac")
exits 0 "make dist" make -s -C "$builddir" dist

# ---- Spack: the settings of spack-packages' pyproject.toml
exits 0 "package.py: ruff" ruff check --isolated --line-length 99 --select E,F,W,I \
    --ignore F403,F405,E741,E731,I001 "$srcdir/packaging/spack/package.py"
exits 0 "package.py: format" ruff format --isolated --line-length 99 --check \
    "$srcdir/packaging/spack/package.py"

# ---- conda: rendered with conda-forge's compilers; built with the system's, without a channel
cp -r "$srcdir/packaging/conda" conda
chmod -R u+w conda
cp "$builddir/unetctl-$version.tar.xz" .
sed -i "s|path: .*unetctl-|path: $TMP/unetctl-|" conda/recipe.yaml
cat >render.py <<'END'
import sys
from rattler_build import Stage0Recipe, VariantConfig

variant = VariantConfig.from_yaml("c_compiler: [gcc]\nc_stdlib: [sysroot]\n")
(one,) = Stage0Recipe.from_file(sys.argv[1]).render(variant)
print(one.recipe.package.name, one.recipe.package.version, *one.recipe.requirements.host)
END
exits 0 "recipe.yaml renders" python3 render.py conda/recipe.yaml
like "$OUT" "unetctl $version cjson jansson " "with its name, version and libraries"
sed '/^requirements:/,/^$/d' conda/recipe.yaml >conda/system.yaml
cat >build.py <<'END'
import sys
from rattler_build import Stage0Recipe

print(Stage0Recipe.from_file(sys.argv[1]).run_build(output_dir="built", channels=[]))
END
exits 0 "and builds" python3 build.py conda/system.yaml
package=$(find built -name 'unetctl-*.conda')
ok "a package" test -n "$package"

# ---- Apptainer: its packages are those that have the libraries which the programs need
definition=$srcdir/packaging/apptainer/unetctl.def
if ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    skip "this is not the container's Debian" "the container's packages"
else
    owner() { # LIBRARY: the package that has it
        { dpkg -S "$1" || dpkg -S "${1#/usr}"; } 2>/dev/null | sed 's/:.*//;q'
    }
    mapfile -t listed < <(sed -n '/^    apt-get install.*libcjson/,/[^\\]$/p' "$definition" |
        grep -oE '(lib|zlib|openmpi-|gnuplot-)[a-z0-9.-]+')
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
        --no-replaces --no-enhances "${listed[@]}" >closure
    missing=''
    while read -r library; do
        package=$(owner "$library")
        grep -qxF "$package" closure || missing+="$library "
    done < <(ldd "$builddir/unetctl" "$builddir/unet-train" "$builddir/unetctl-slurm-commands" |
        sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | xargs readlink -f | sort -u)
    ok "the container's packages are found" test "${#listed[@]}" -gt 8
    is "$missing" "" "the container has every library"
fi
if command -v apptainer >/dev/null; then
    exits 0 "apptainer build" apptainer build --fakeroot unetctl.sif "$definition"
    exits 0 "apptainer test" apptainer test unetctl.sif
else
    skip "apptainer is not installed" "apptainer build"
fi
done_testing
