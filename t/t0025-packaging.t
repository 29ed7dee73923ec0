#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recipes of packaging/ and python/ name this version and files that exist, and parse.
# make check-packaging builds from them.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
cd "$srcdir" || exit 255
version=$(sed -n 's/^AC_INIT(\[unetctl\], \[\([^]]*\)\].*/\1/p' configure.ac)
ok "configure.ac has a version" test -n "$version"

says() { # FILE REGEX: every match has this version, and there is one
    local found
    found=$(grep -oE -- "$2" "$1" | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | sort -u)
    is "$found" "$version" "$1"
}
says python/pyproject.toml '^version = ".*"'
says CITATION.cff '^version: .*'
says packaging/apptainer/unetctl.def 'unetctl-[0-9.]+[0-9]|image.version .*'
says packaging/conda/recipe.yaml '^  version: ".*"'
says packaging/spack/package.py '^    version\("[^"]*"|unetctl-[0-9.]+[0-9]'
recipes=(packaging/easybuild/unetctl-*.eb)
for recipe in "${recipes[@]}"; do
    says "$recipe" "^version = '.*'"
    ok "... as its name says" test "${recipe#packaging/easybuild/unetctl-"$version"-foss-}" != "$recipe"
done
is "$(printf '%s\n' "${recipes[@]}" | grep -oE 'foss-[0-9]+[ab](-CUDA)?' | tr '\n' ' ')" \
    "foss-2023b-CUDA foss-2023b foss-2024a-CUDA foss-2024a foss-2025a-CUDA foss-2025a " \
    "with and without CUDA"
is "$(grep -rhoE --exclude=release 'https://unetctl[^/'\''" >]*' packaging | sort -u)" \
    "https://unetctl.example" "the project has no address but an example"
[ ! -e debian ] || # which the tarball is without
    is "$(grep -rhoE 'unetctl@[^>]*' debian | sort -u)" unetctl@example.org "nor an address for mail"

# What packaging/release makes of them.
tarball=$TMP/unetctl-$version.tar.xz
echo "a tarball" >"$tarball"
exits 0 "the recipes of a release" packaging/release "$tarball" https://host.example/files "$TMP/out"
sum=$(sha256sum <"$tarball")
sum=${sum%% *}
like "$OUT" "^$sum  unetctl-$version.tar.xz\$" "its sum is printed"
like "$TMP/out/spack/package.py" "version\\(\"$version\", sha256=\"$sum\"\\)" "Spack has it"
like "$TMP/out/conda/recipe.yaml" "sha256: $sum" "conda has it"
is "$(grep -lx "checksums = \['$sum'\]" "$TMP"/out/easybuild/unetctl-*.eb | wc -l)" 6 \
    "EasyBuild has it"
is "$(grep -rho 'https://[a-z.]*example[^"'\'']*' "$TMP/out" | sort -u | xargs)" \
    "https://host.example/files https://host.example/files/unetctl-\${{ version }}.tar.xz \
https://host.example/files/unetctl-$version.tar.xz" "and all have its address"
exits 2 "an address that is none" packaging/release "$tarball" host.example "$TMP/other"

command -v python3 >/dev/null || { skip "python3 is not installed" "they parse"; done_testing; }
parses() { python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$1"; }
for file in packaging/easybuild/*.eb packaging/spack/package.py $(find templates python -name '*.py'); do
    ok "$file parses" parses "$file"
done
if python3 -c 'import yaml' 2>/dev/null; then
    for file in packaging/conda/recipe.yaml CITATION.cff; do
        ok "$file parses" python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$file"
    done
else
    skip "Python's yaml is not installed" "recipe.yaml and CITATION.cff parse"
fi
ok "build.sh parses" bash -n packaging/conda/build.sh

# The package needs nothing but Python, until something else is used.
imported() { PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python python3 -c "$@"; }
ok "import unetctl imports nothing else" imported 'import sys, unetctl, unetctl_run
assert unetctl_run.Run is unetctl.Run
sys.exit(", ".join({"numpy", "PIL", "pandas", "matplotlib", "mlflow"} & set(sys.modules)) or 0)'
mkdir "$TMP/report"
echo '{"schema": 1, "study": "s", "created": "", "version": "", "engines": [], "pairs": [], "rule": "",
    "rules": [], "problems": [], "runs": []}' >"$TMP/report/report.json"
exits 1 "without pandas" imported "import sys; sys.modules['pandas'] = None
import unetctl; unetctl.load('$TMP').series"
like "$ERR" "^unetctl.study.StudyError: pandas is not installed, .*: type 'pip install pandas'$" \
    "the error says what to type"
exits 1 "a folder that is not a study" imported "import unetctl; unetctl.load('t')"
like "$ERR" "StudyError: t: this is not the folder of a study or of a report" "is refused"

# What the recipes look for after installing is installed.
targets=$(grep -oE '(templates|python)/[^ ]+' launcher/script/Makefile.inc)
ok "templates/sites/generic.yaml is installed" grep -qx 'templates/sites/generic.yaml' <<<"$targets"
while read -r file; do
    ok "$file is installed" grep -qxF "$file" <<<"$targets"
done < <(find -L python -type f -not -path '*/__pycache__/*' -not -path '*/build/*' -not -path '*/test/*' \
    -not -path '*.egg-info/*')
while read -r option; do
    ok "configure has --with-$option" grep -q "^UNETCTL_WITH(\[$option\]" configure.ac
done < <(grep -rhoE -- '--with(out)?-[a-z]+' packaging | sed 's/.*-//' | sort -u)

# Each profile of a cluster names the module.
is "$(grep -L -- '- module load unetctl' templates/sites/*.yaml | tr '\n' ' ')" \
    "templates/sites/local.yaml templates/sites/sandbox.yaml " "site profiles name the module"
done_testing
