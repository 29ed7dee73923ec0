#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recipes for conda, Spack and Apptainer as released, as far as they can be tried without their
# channels.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/packaging/packaging.sh
. "$srcdir/t/packaging/packaging.sh"
packages_of_pypi py-rattler-build ruff
release

# ---- Spack: the settings of spack-packages' pyproject.toml
exits 0 "package.py: ruff" ruff check --isolated --line-length 99 --select E,F,W,I \
    --ignore F403,F405,E741,E731,I001 "$TMP/release/spack/package.py"
exits 0 "package.py: format" ruff format --isolated --line-length 99 --check \
    "$TMP/release/spack/package.py"

# ---- conda: rendered with conda-forge's compilers; built with the system's, without a channel
cp -r "$TMP/release/conda" conda
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

recipe = Stage0Recipe.from_file(sys.argv[1])
print(recipe.run_build(output_dir="built", channels=[], package_format="tar-bz2"))
END
exits 0 "and builds" python3 build.py conda/system.yaml
package=$(find built -name 'unetctl-*.tar.bz2')
ok "a package" test -n "$package"
mkdir prefix
ok "unpacked" tar -xf "$package" -C prefix
ok "the demo with the programs there" demo_of "$TMP/prefix/bin"

# ---- Apptainer: its packages are those that have the libraries which the programs need
definition=$TMP/release/apptainer/unetctl.def
if ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    skip "this is not the container's Debian" "the container's packages"
else
    owner() { # LIBRARY: the package that has it
        { dpkg -S "$1" || dpkg -S "${1#/usr}"; } 2>/dev/null | sed 's/:.*//;q'
    }
    mapfile -t listed < <(sed -n '/^    apt-get install.*libcjson/,/[^\\]$/p' "$definition" |
        grep -oE '(lib|zlib|openmpi-)[a-z0-9.-]+')
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
        --no-replaces --no-enhances "${listed[@]}" >closure
    missing=''
    while read -r library; do
        package=$(owner "$library")
        grep -qxF "$package" closure || missing+="$library "
    done < <(ldd "$builddir/unetctl" "$builddir/unet-train" |
        sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | xargs readlink -f | sort -u)
    ok "the container's packages are found" test "${#listed[@]}" -gt 8
    is "$missing" "" "the container has every library"
fi
if command -v apptainer >/dev/null; then
    cp "$definition" "$TMP/source"
    cd "$TMP/source" || exit 255
    # Its base by debootstrap, which a machine without a registry of containers can have as well.
    if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
        exits 0 "the base" debootstrap --variant=minbase --include=ca-certificates bookworm \
            "$TMP/base"
        rm -rf "$TMP"/base/dev/* # which a container has of its host
        echo 'Acquire::Check-Valid-Until "false";' >"$TMP/base/etc/apt/apt.conf.d/90check"
        sed -i "s/^Bootstrap: docker/Bootstrap: localimage/; s,^From: .*,From: $TMP/base," unetctl.def
    fi
    exits 0 "apptainer build" apptainer build unetctl.sif unetctl.def
    exits 0 "apptainer test" apptainer test unetctl.sif
    cat >local.yaml <<END
container: ./unetctl.sif
trainer: /usr/local/bin/unet-train
$(cat "$srcdir/templates/sites/local.yaml")
END
    exits 0 "data" apptainer exec unetctl.sif unet-train data synth --out data --count 10 \
        --size 32x32 --seed 1
    exits 0 "a study whose trainer is the container's" unetctl init study --data data \
        --site ./local.yaml --set data.height=32 --set data.width=32 --set train.epochs=2 \
        --set model.depth=2
    exits 0 "1 and 2 GPUs" unetctl submit -C study --gpus 1,2 --wait
    exits 0 "report" unetctl report -C study --text
    like <(unetctl status -C study) "unet-g02-s1 +COMPLETED" "is trained by it"
else
    skip "apptainer is not installed" "apptainer build"
fi
done_testing
