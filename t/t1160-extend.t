#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# doc/HACKING.md, "Adding things": a verb, a site and an engine, added as it says in a copy of the
# tree.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

[ "$(cd "$srcdir" && pwd -P)" = "$(cd "$builddir" && pwd -P)" ] ||
    skip_all "not built in its source tree, which is what is copied"
command -v automake >/dev/null || skip_all "automake is not installed"

cd "$builddir" || exit 255
{
    find src launcher m4 build-aux autom4te.cache -type f -not -path '*/test/*'
    find templates -type f
    find src launcher trainer t bench \( -name '*.inc' -o -name '*.Po' -o -name .dirstamp \) -type f
    printf '%s\n' Makefile* configure* config.* aclocal.m4 stamp-h1 libcore.a liblauncher.a unetctl
} | sort -u | tar --create --files-from=- | tar --extract --directory="$TMP"
cd "$TMP" || exit 255

insert() { # FILE LINE BEHIND: a line behind the first one that has this text
    awk -v line="$2" -v behind="$3" '{ print }
        !done && index($0, behind) { print line; done = 1 }
        END { exit !done }' "$1" >new && cat new >"$1"
}
replace() { # FILE TEXT BY
    grep -qF -- "$2" "$1" && sed -i "s/$2/$3/" "$1"
}

# ---- a verb
sed 's/cmd_data/cmd_toy/g; s/"data"/"toy"/; s/= "check, split.*"/= "adds a verb"/
    s/return trainer_program_exec.*/return err_set(e, ERR_DATA, "toy: %s", words[1]);/' \
    launcher/cmd/cmd_data.c >launcher/cmd/cmd_toy.c
ok "the verb is declared" insert launcher/cmd/cmd.h 'extern const struct cli_command cmd_toy;' \
    cmd_template
ok "... stands in the table" insert launcher/main.c '    &cmd_toy,' '&cmd_template,'
ok "... and is built" insert launcher/cmd/Makefile.inc "	launcher/cmd/cmd_toy.c \\\\" cmd_template.c

# ---- a site
sed 's/^max_in_flight: 1/max_in_flight: 2/' templates/sites/local.yaml >templates/sites/toy.yaml
ok "the site is installed" insert launcher/script/Makefile.inc "	templates/sites/toy.yaml \\\\" \
    sites/perlmutter.yaml

# ---- an engine
ok "the engine has a name" replace src/settings/settings.def '"embedded", "tensorflow"' \
    '"embedded", "toy", "tensorflow"'
ok "... a row" insert launcher/study/engine.c '    {.name = "toy"},' '.embedded = true'
ok "... and a section" replace src/settings/settings.def 'PROGRAM(tensorflow' 'PROGRAM(toy, "your toy")\n&'
mkdir templates/toy
sed 's/^exec /echo toy; exec /' templates/command/run_file.sh >templates/toy/run_file.sh
ok "... and a template" insert launcher/script/Makefile.inc "	templates/toy/run_file.sh \\\\" \
    templates/tensorflow/run_file.sh

build() { make unetctl >"$OUT" 2>&1 || { diag <"$OUT"; return 1; }; }
ok "all of it builds" build
ok "from the three new lines of the lists" grep -q 'toy/run_file\.sh' Makefile

PATH=$TMP:$PATH
like <(unetctl --help) '^  toy +adds a verb' "the verb is in the help"
exits 7 "it runs" unetctl toy works
like "$ERR" 'toy: works' "and does its work"
like <(unetctl site list) '^toy ' "the site is in the list"
mkdir -p data/images data/masks
exits 0 "a study of both" unetctl init study --data data --site toy --engine toy \
    --set toy.script=/bin/true --set data.height=32 --set data.width=32
like <(unetctl config -C study engine site toy.script profile.max_in_flight) 'true' \
    "has its settings"
exits 0 "its scripts are written" unetctl generate -C study --gpus 1
ok "... from the new template" grep -q '^echo toy; exec /bin/true' study/runs/toy-g01-s1/run_file.sh
done_testing
