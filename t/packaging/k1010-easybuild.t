#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# packaging/easybuild with EasyBuild of PyPI: each easyconfig finds all that it depends on; one is
# built, as released, on the system's toolchain; its module is loaded by Lmod and by Environment
# Modules, also in the jobs of a study; the demo runs with the installed programs.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/packaging/packaging.sh
. "$srcdir/t/packaging/packaging.sh"
packages_of_pypi easybuild pycodestyle
need_lmod
release
recipes=$TMP/release/easybuild
export EASYBUILD_PREFIX=$TMP/easybuild EASYBUILD_MODULES_TOOL=Lmod EASYBUILD_TMPDIR=$TMP/eb
if [ "$(id -u)" = 0 ]; then export EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES=1; fi

for recipe in "$recipes"/unetctl-*.eb; do
    name=${recipe##*/}
    exits 0 "$name: dry run" eb --robot="$recipes:$TMP/venv/easybuild/easyconfigs" --dry-run "$recipe"
    module=unetctl/${name#unetctl-}
    like "$OUT" "\(module: ${module%.eb}\)$" "all that it depends on is found"
done
exits 0 "style" eb --check-style "$recipes"/*.eb

# ---- a real build: the same recipe without a toolchain and what it depends on, which is Debian's
python3 - "$recipes/unetctl-$version-foss-2024a.eb" "unetctl-$version.eb" <<'END'
import re, sys
text = open(sys.argv[1]).read()
text, n = re.subn(r"(?m)^toolchain = .*", "toolchain = SYSTEM", text)
text, m = re.subn(r"(?ms)^(?:build)?dependencies = \[.*?\]\n", "", text)
assert (n, m) == (1, 2)
open(sys.argv[2], "w").write(text)
END
exits 0 "eb fetches and builds it" eb "unetctl-$version.eb"
modules=$EASYBUILD_PREFIX/modules/all
root=$EASYBUILD_PREFIX/software/unetctl/$version
ok "a module for Lmod" test -e "$modules/unetctl/$version.lua"

loaded() { # MODULE-COMMAND...: unetctl of the module is first on PATH, and gone after unload
    (
        eval "$("$@" load "unetctl/$version" 2>/dev/null)"
        [ "$(command -v unetctl)" = "$root/bin/unetctl" ] && unetctl site list && unet-train devices &&
            [ "$(man -w unetctl)" = "$root/share/man/man1/unetctl.1" ] || exit 1
        eval "$("$@" unload "unetctl/$version" 2>/dev/null)"
        [ "$(command -v unetctl)" != "$root/bin/unetctl" ]
    )
}
export MODULEPATH=$modules
ok "Lmod loads and unloads it" loaded "$LMOD_CMD" bash
exits 0 "eb writes a module for Environment Modules" env EASYBUILD_MODULES_TOOL=Lmod eb --module-only \
    --force --module-syntax=Tcl --installpath-modules="$TMP/tcl" "unetctl-$version.eb"
export MODULEPATH=$TMP/tcl/all
if need_environment_modules; then
    ok "Environment Modules loads and unloads it" loaded "$MODULECMD" bash
else
    skip "Environment Modules is neither installed nor to be had" "Environment Modules loads it"
fi

# ---- the installed program, with its module in each job
export MODULEPATH=$modules
cat >site.yaml <<END
$(sed '/^setup:/d' "$srcdir/templates/sites/local.yaml")
setup:
  - eval "\$($LMOD_CMD bash load unetctl/$version)"
  - type unet-train
END
unetctl=$root/bin/unetctl
exits 0 "data" "$root/bin/unet-train" data synth --out data --count 10 --size 32x32 --seed 1
exits 0 "a study" "$unetctl" init study --data data --site ./site.yaml --set data.height=32 \
    --set data.width=32 --set train.epochs=2 --set model.depth=2
exits 0 "1 and 2 GPUs" env PATH="${PATH//"$builddir":/}" "$unetctl" submit -C study --gpus 1,2 --wait
like <(cat study/runs/unet-g01-s1/attempt-1/*.out) "unet-train is $root/bin/unet-train" \
    "the jobs have the module"
exits 0 "report" "$unetctl" report -C study --text
ok "the demo" demo_of "$root/bin"
done_testing
