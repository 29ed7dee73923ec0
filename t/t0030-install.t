#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make install into a staging folder: the installation works wherever it is moved to, beside another
# version; make uninstall leaves nothing.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

make=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$builddir")
old=$TMP/old/opt/unetctl
ok 'make install with DESTDIR and a prefix' "${make[@]}" install DESTDIR="$TMP/old" \
    prefix=/opt/unetctl
is "$(ls "$TMP/old")" opt '... puts files below both only'
is "$(cd "$old" && find . -type f -perm /022)" '' '... that only their owner may write'
is "$(cd "$old" && find . -type f \( -path './bin/*' -o -path './libexec/*' \) ! -perm -a+x \
    ! -name '*.sh')" '' '... programs are executable'

# LIBRARY PROGRAM of each library that one links.
linked() {
    local program
    for program in "$old"/bin/* "$old"/libexec/unetctl/unetctl-*; do
        readelf -d "$program" | sed -n "s/.*(NEEDED).*\[\(lib[a-z0-9_]*\).*/\1 ${program##*/}/p"
    done | sed 's/^libpng[0-9]* /libpng16 /'
}
# Those that doc/LICENSES.md does not list for this program.
unlisted() {
    linked | while read -r library program; do
        grep -E "^\| ([a-z, ]*, )?$library( |,)[^|]*\|( all |.*\b$program( |,))[^|]*\|" \
            "$srcdir/doc/LICENSES.md" >/dev/null || echo "$library $program"
    done
}
ok 'the programs link libraries' grep -qx 'libjansson unetctl' <(linked)
is "$(unlisted)" '' '... whose licences doc/LICENSES.md lists'
is "$(linked | grep -E '^libslurm ' | grep -v ' unetctl-slurm$')" '' \
    '... and libslurm, which is under the GPL, by its helper alone'

# It is used from another folder, by its name in PATH, by a path, and by a link.
new="$TMP/a folder/unetctl"
mkdir "$TMP/a folder"
mv "$old" "$new"
program=$new/bin/unetctl
PATH=$new/bin:${PATH#"$builddir:"}
is "$(command -v unetctl)" "$program" 'the moved program is the one in PATH'
names_build() { # programs without what debuggers read
    local file
    grep -rIlF -e "$TMP/old" -e "$builddir" "$new"
    for file in "$new"/bin/* "$new"/libexec/unetctl/unetctl-*; do
        strip -o "$TMP/stripped" "$file"
        ! grep -qF -e "$TMP/old" -e "$builddir" "$TMP/stripped" || echo "$file"
    done
}
is "$(names_build)" '' 'no installed file names the build or staging folder'
like <(unetctl template show submit_file.sh 2>&1) '^#!\{\{shell\}\}' 'templates are found'
like <(unetctl site list 2>&1) '^ *generic' 'sites are found'
mkdir "$TMP/links"
ln -s "$program" "$TMP/links/"
like <("$TMP/links/unetctl" site list 2>&1) '^ *generic' '... through a link as well'
if command -v man >/dev/null; then
    is "$(env -u MANPATH man -w unetctl 2>&1)" "$new/share/man/man1/unetctl.1" \
        'man finds the page of the program in PATH'
else
    skip 'man is not installed' 'man finds the page of the program in PATH'
fi
for shell in bash zsh fish; do
    like <(unetctl completion $shell) unetctl "the completion of $shell is printed"
done
ok '... and installed' test -s "$new/share/bash-completion/completions/unetctl" -a \
    -s "$new/share/zsh/site-functions/_unetctl" -a \
    -s "$new/share/fish/vendor_completions.d/unetctl.fish"

ok "the guide's published study is installed" test -s \
    "$new/share/doc/unetctl/doc/published/results.csv"

ok 'a data set by the moved trainer' unet-train data synth --out "$TMP/data" --count 8 \
    --size 32x32 --seed 1
ok 'a study with the moved programs' unetctl init "$TMP/study" --data "$TMP/data" --site local \
    --set data.height=32 --set data.width=32 --set train.epochs=1 --set train.batch_per_gpu=2
cd "$TMP/study" || exit 255
ok '... is run' unetctl submit --gpus 1 --scheduler local --wait
like <(unetctl collect && cat logs/results.csv) ',done,1,' '... and done'
unlike <(cat runs/*/*/* 2>/dev/null) "$builddir/unet" '... by programs of the installation only'

# Slurm's helper is started from there, or missed.
ok 'a study for Slurm' unetctl init "$TMP/slurm" --data "$TMP/data" --site generic
cd "$TMP/slurm" || exit 255
helper=$new/libexec/unetctl/unetctl-slurm
if [ -x "$helper" ]; then
    missed="is not in $new/bin/../libexec/unetctl"
    doctor() { UNETCTL_SLURM_INTERFACE=library unetctl doctor 2>&1; }
    unlike <(doctor) "$missed" 'the helper for Slurm is found'
    mv "$helper" "$TMP/helper"
    like <(doctor) "$missed" '... and missed where it is gone'
    mv "$TMP/helper" "$helper"
fi

# Another version is one whose parts differ: each program uses its own.
other=$TMP/other/unetctl
mkdir "$TMP/other"
cp -r "$new" "$other"
echo '# other version' >>"$other/share/unetctl/templates/allocation.sh"
sites=$other/share/unetctl/templates/sites
mv "$sites/lumi.yaml" "$sites/other.yaml"
unlike <("$program" site list 2>&1) '^ *other' 'beside another version: its own templates'
like <("$other/bin/unetctl" site list 2>&1) '^ *other' '... and the other has its own'

ok 'make install once more' "${make[@]}" install DESTDIR="$TMP/old" prefix=/usr
mkdir -p "$TMP/old/usr/share/unetctl-data"
touch "$TMP/old/usr/share/unetctl-data/foreign"
ok 'make uninstall' "${make[@]}" uninstall DESTDIR="$TMP/old" prefix=/usr
is "$(cd "$TMP/old/usr" && find . -type f)" ./share/unetctl-data/foreign \
    '... removes its files and no others'
is "$(cd "$TMP/old/usr" && find . -name unetctl)" '' '... and its folders'
done_testing
