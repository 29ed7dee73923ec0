#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Follows doc/HACKING.md, "Adding things" and "Add an op", in a copy of the tree: adds a verb, a
# site, an engine, a log form, a setting, a sentence of the report, an op, and an algorithm for the
# op. Each touches at most four files.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

[ "$(cd "$srcdir" && pwd -P)" = "$(cd "$builddir" && pwd -P)" ] ||
    skip_all "not built in its source tree, which is what is copied"
broken "study/runs/*" # no schema of this tree has its engine
command -v automake >/dev/null || skip_all "automake is not installed"

cd "$builddir" || exit 255
{
    find src launcher m4 build-aux autom4te.cache -type f -not -path '*/test/*'
    find trainer -type f \( -not -path '*/test/*' -o -path 'trainer/ops/test/*' \)
    find templates -type f
    find src launcher trainer t bench \( -name '*.inc' -o -name '*.Po' -o -name .dirstamp \) -type f
    printf '%s\n' Makefile* configure* config.* aclocal.m4 stamp-h1 libcore.a liblauncher.a \
        libtrainer.a t/tap.h unetctl
} | sort -u | tar --create --files-from=- | tar --extract --directory="$TMP"
cd "$TMP" || exit 255
pwd >source-folder

insert() { # FILE LINE BEHIND: a line behind the first one that has this text
    awk -v line="$2" -v behind="$3" '{ print }
        !done && index($0, behind) { print line; done = 1 }
        END { exit !done }' "$1" >edited && cat edited >"$1"
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
ok "... a row" insert launcher/study/study.c '    {.name = "toy"},' '.embedded = true'
ok "... and a section" replace src/settings/settings.def 'PROGRAM(tensorflow' 'PROGRAM(toy, "your toy")\n&'
mkdir templates/toy
sed 's/^start=exec/echo toy; &/' templates/command/run_file.sh >templates/toy/run_file.sh
ok "... and a template" insert launcher/script/Makefile.inc "	templates/toy/run_file.sh \\\\" \
    templates/command/run_file.sh

# ---- a log form
ok "lines of a program are known" insert launcher/collect/log/log_file.c \
    '    {{"toy sweep", "secs"}, "toy sweep (?<epoch>\\\\d+): (?<epoch_time>\\\\S+) secs"},' '} line_forms[] = {'

# ---- a setting
ok "report.toy is a setting" insert src/settings/settings.def \
    'STUDY_SETTING(report, toy, INT, "3", ON_DEMAND, RANGE(1, 9), HELP("report: a toy"))' \
    'SECTION(report)'

# ---- a sentence of the report
ok "the report says one sentence more" insert launcher/report/verdict.c \
    '        buf_add(next, "A toy was measured.\\n");' 'add_next(next, '

# ---- an op, and an algorithm for it
toy_kernel() { # NAME SUPPORTS: a kernel that doubles
    cat <<EOF
static int run_toy(struct op *op, struct exec *x, struct err *e)
{
    (void)x;
    (void)e;
    for (size_t i = 0; i < tensor_count(op->out[0]); i++)
        op->out[0]->data[i] = 2 * op->in[0]->data[i];
    return 0;
}

static bool supports_toy(const struct op *op)
{
    return $2;
}

const struct kernel $1 = {.kind = &toy_kind, .supports = supports_toy, .run = run_toy};
EOF
}
cat >>trainer/ops/elementwise.c <<'EOF'
static int infer_toy(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                     struct err *e)
{
    (void)attr;
    (void)e;
    out[0] = in[0]->shape;
    return 0;
}

const struct op_kind toy_kind = {
    .name = "toy", .nin = 1, .nout = 1, .inplace = true, .infer = infer_toy,
};
EOF
toy_kernel ref_toy 'op->in[0] != NULL' >>trainer/backends/ref/elementwise.c
{
    printf '#include "%s"\n' src/base.h trainer/backends/cpu/simd.h
    toy_kernel simd_toy 'tensor_channels(op->in[0]) % 8 == 0'
} >trainer/backends/cpu/toy.c
ok "the op has a row" insert trainer/core/ops.def 'OP(toy) /* (x) -> 2 x */' 'OP(relu_grad)'
ok "the algorithm stands in the backend's table" insert trainer/backends/cpu/simd.h \
    "    KERNEL(toy) \\\\" '#define SIMD_KERNELS(KERNEL)'
touch trainer/backends/cpu/simd_backend.c
ok "... and is built" insert trainer/engine.inc "	trainer/backends/cpu/toy.c \\\\" \
    trainer/ops/conv.c
for channels in 3 8; do
    ok "opcheck has a case of $channels channels" insert trainer/ops/test/opcheck.c \
        "    {&toy_kind, {0}, {NHWC(1, 2, 2, $channels)}, {VALUES_NORMAL}, 0, 0, 0, false, 0}," \
        'static const struct test_case cases[] = {'
done

# What it compiles is not run for long.
build() { make CFLAGS=-O0 unetctl >"$OUT" 2>&1 || { diag <"$OUT"; return 1; }; }
# Files that do not use the op need not be compiled again because of its row; the tables do.
build_opcheck() {
    make CFLAGS=-O0 -o trainer/core/ops.def -o trainer/backends/cpu/simd.h \
        trainer/ops/test/opcheck.t >"$OUT" 2>&1 ||
        { diag <"$OUT"; return 1; }
}
ok "all of it builds" build
ok "the Makefile has the new template" grep -q 'toy/run_file\.sh' Makefile

ok "opcheck builds with the op" build_opcheck
like <(trainer/ops/test/opcheck.t --list) '^toy +f32 .*simd,ref' \
    "opcheck lists the algorithm for backends that support it"

PATH=$TMP:$PATH
like <(unetctl --help) '^  toy +adds a verb' "the verb is in the help"
exits 7 "the verb runs" unetctl toy works
like "$ERR" 'toy: works' "the verb does its work"
like <(unetctl site list) '^toy ' "the site is in the list"
mkdir -p data/images data/masks
exits 0 "a study with both is made" unetctl init study --data data --site toy --engine toy \
    --set toy.script=/bin/true --set data.height=32 --set data.width=32
like <(unetctl config -C study engine site toy.script profile.max_in_flight) 'true' \
    "the study has the settings of the site"
exits 0 "its scripts are written" unetctl generate -C study --gpus 1
ok "... from the new template" grep -q '^echo toy; start=exec' study/runs/toy-g01-s1/run_file.sh
is "$(unetctl config -C study --set report.toy=4 report.toy)" "report.toy: 4" "the setting has its value"
exits 2 "a value out of its bounds" unetctl config -C study --set report.toy=10 report.toy
mkdir logs
for gpus in 1 2; do
    for epoch in 1 2 3 4 5; do echo "toy sweep $epoch: $((8 / gpus)).0$epoch secs"; done \
        >logs/log_$gpus.txt
done
without_pictures
exits 0 "logs of the new form are read" unetctl report --logs logs --text
like "$OUT" '^ *2 .* (1\.9|2\.0)' "... and show the speed-up"
exits 0 "a report is made" unetctl report --logs "$srcdir/doc/published" -o report
for file in "$OUT" report/report.{html,md,json}; do
    like "$file" 'A toy was measured\.' "${file##*/} has the sentence"
done
done_testing
