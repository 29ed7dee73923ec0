#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Output for programs: verbs that read print only their result on stdout, JSON has its schema,
# --dry-run writes nothing and shows what would be written, --parsable, NO_COLOR.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"
broken 'rep/runs/*' # of t/study-fixture.sh

json() { # TEXT COMMAND...: exit 0, stdout one JSON document with "schema"
    local text=$1
    shift
    if "$@" >"$OUT" 2>"$ERR" &&
        python3 -c 'import json, sys; json.load(open(sys.argv[1]))["schema"] + 0' "$OUT" \
            2>>"$ERR"; then
        report 0 "$text"
    else
        report 1 "$text"
        cat "$OUT" "$ERR" | diag
    fi
}

# ---- --dry-run
ok "images are made" unet-train data synth --out synth --count 12 --size 32x48
make_study one local
exits 0 "generate --dry-run" unetctl generate -C one --gpus 1,2 --dry-run
like "$OUT" '^==> runs/unet-g02-s1/submit_file.sh \(new\)$' "it says which files would be new"
cp "$OUT" dry
ok "nothing was written" test ! -e one/runs -a ! -e one/.unetctl
body() { # the text of a file in a dry run
    awk -v head="==> runs/$1 (" \
        'index($0, "==> ") == 1 { on = index($0, head) == 1 && !/\(diff\)$/; next } on' "$2"
}
ok "the files are generated" unetctl generate -C one --gpus 1,2
id=$(cat one/.unetctl/id)
sed "s/0000000000000000/$id/" dry >dry.id
for file in run.json run_file.sh submit_file.sh; do
    is "$(body unet-g02-s1/$file dry.id)" "$(cat one/runs/unet-g02-s1/$file)" \
        "$file is written as it was shown"
done
exits 0 "generate --dry-run again" unetctl generate -C one --gpus 1,2 --dry-run
is "$(grep -c '^==> .*(unchanged)$' "$OUT")" 6 "nothing would change"
find one -type f -exec cksum {} + | sort >before
exits 0 "submit --dry-run with another value" unetctl submit -C one --gpus 1,2 \
    --dry-run --set train.epochs=7 -- --account=me
like "$OUT" '^==> runs/unet-g01-s1/run.json \(changed\)$' "it says which files would change"
like "$OUT" '^\+.*"epochs": 7' "it shows the change as a diff"
like "$OUT" '^\+#SBATCH --account=me$' "it shows the change of the scripts, too"
awk '/^==> .*run.json \(diff\)/ { on = 1; next } /^==> / { on = 0 } on' "$OUT" >run.diff
find one -type f -exec cksum {} + | sort >after
ok "nothing was touched" cmp before after
if command -v patch >/dev/null; then
    cp -r one copy
    ok "patch accepts the diff" patch -s -d copy -p1 -i ../run.diff
    is "$(field copy/runs/unet-g01-s1/run.json 'd["train"]["epochs"]')" 7 \
        "the patched file is what would be written"
else
    skip 'patch is not installed' 'patch takes the diff'
fi

# ---- --parsable
exits 0 "submit --parsable" unetctl submit -C one --gpus 1,2 --parsable
cp "$OUT" ids
is "$(grep -cE '^[0-9]+(;[a-z0-9]+)?$' ids)" 2 "it prints an id for each run, as sbatch does"
is "$(wc -l <ids)" 2 "it prints nothing else"
ok "the runs end" wait_until 60 all_states one COMPLETED
exits 0 "submit --parsable again" unetctl submit -C one --gpus 1,2 --parsable
is "$(cat "$OUT")" "$(cat ids)" "it prints the same ids"
is "$(unetctl status -C one --json 2>/dev/null >status.json; field status.json '[r["run"] for r in d["runs"]]')" \
    "['unet-g01-s1', 'unet-g02-s1']" "status lists the runs in order"

# ---- JSON
json "plan --json" unetctl plan -C one --json
json "config --json" unetctl config -C one --json
json "status --json" unetctl status -C one --json
json "logs --json" unetctl logs -C one unet-g01-s1 --json
like "$OUT" 'trainer: good' "the JSON has the text"
exits 2 "logs --json --follow is refused" unetctl logs -C one unet-g01-s1 --json --follow
json "collect --json" sh \
    -c "unetctl collect -C one --json || true" # the stand-in trainer records little
json "doctor --json" env UNETCTL_DATA_DIR="$TMP/synth" unetctl doctor -C one --json
json "nodelist --json" unetctl nodelist compress n1 n2 n3 --json
is "$(field "$OUT" 'd["list"], d["hosts"]')" "('n[1-3]', ['n1', 'n2', 'n3'])" \
    "the JSON has both forms of the list"
json "spec --json" unetctl spec --json --nodelist 'n[1-2]' --tasks-per-node 2 --rank 1
(
    # shellcheck source=t/study-fixture.sh
    . "$srcdir/t/study-fixture.sh"
    make_study rep rep 1,2 1
    add_run rep 1 1 2 0.9
    add_run rep 2 1 1 0.9
)
json "report --json" unetctl report rep --json -
json "sandbox status --json" sh -c "unetctl sandbox status --json || true"
json "site list --json" unetctl site list --json
json "template list --json" unetctl template list --json
json "devices --json" unet-train devices --json
json "data check --json" unetctl data check --json synth
json "data stats --json" unetctl data stats --data synth --json --size 32x32
is "$(field "$OUT" 'd["pairs"], d["shapes"][0]["height"], sorted(d["mask_values"])')" \
    "(12, 32, ['0', '255'])" "the JSON has the numbers of the text"

# ---- stdout is for results, stderr for talk
for verb in submit generate resume watch cancel; do
    unetctl $verb -C one >"$OUT" 2>"$ERR"
    ok "$verb prints messages on stderr only" test ! -s "$OUT"
done
for verb in plan status config collect; do
    unetctl $verb -C one --no-such >"$OUT" 2>"$ERR"
    ok "$verb: an error prints nothing on stdout" test ! -s "$OUT"
done

# ---- NO_COLOR
if command -v script >/dev/null; then
    on_terminal() { script -qec "$*" /dev/null </dev/null; }
    on_terminal env TERM=xterm unetctl watch -C one >colored 2>&1
    on_terminal env TERM=xterm NO_COLOR=1 unetctl watch -C one >plain 2>&1
    like colored $'\033\\[3[0-9]m' "a terminal gets colours"
    unlike plain $'\033\\[3[0-9]m' "NO_COLOR turns colours off"
    unetctl watch -C one >"$OUT" 2>&1
    unlike "$OUT" $'\033' "without a terminal there are no colours"
else
    skip 'script is not installed' 'NO_COLOR'
fi

# ---- man pages
for program in unetctl unet-train; do
    $program --man >$program.1
    if command -v lexgrog >/dev/null; then
        ok "$program.1 has a name line for whatis" lexgrog $program.1
        like "$OUT" "\"$program - [a-z]" "whatis can read the name line"
    else
        skip 'man-db is not installed' "$program.1 has a name line"
    fi
done
done_testing
