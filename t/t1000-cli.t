#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Command lines of both programs: usage errors, help, version, man page.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

# Prints the verbs in the synopsis of the man page; some have two words (data synth).
verbs() { "$1" --man | sed -n "s/^\.B $1 //p" | sed 's/ *$//'; }
options() { # PROGRAM VERB
    # shellcheck disable=SC2086 # two words
    "$1" $2 --help | sed -n '/^Options:/,/^$/s/^  \(-., \|    \)--\([a-z-]*\).*/\2/p'
}
no_longer_than() { [ "$(wc -l <"$2")" -le "$1" ]; }
no_wider_than() { ! grep -qE "^.{$(($1 + 1))}" "$2"; }

check_verb() { # PROGRAM VERB
    local program=$1 verb=$2 option
    like "$TMP/help" "^  $verb +[A-Za-z]" "$program $verb is in the help"
    # shellcheck disable=SC2086 # two words
    exits 0 "$program $verb --help" "$program" $verb --help
    sed '/^Settings,/,$d' "$OUT" >"$TMP/verb"
    ok '... its help fits on a screen' no_longer_than "$height" "$TMP/verb"
    ok '... no line of its help is too long' no_wider_than "$width" "$TMP/verb"
    for option in $(options "$program" "$verb"); do
        ok "... --$option is in the man page" grep -qE -- "--$option( |$)" "$TMP/man"
    done
    # shellcheck disable=SC2086
    exits 2 "$program $verb --no-such-option is refused" "$program" $verb --no-such-option
    like "$ERR" "unknown option '--no-such-option'" '... the error names the option'
    ok '... the error is one line' no_longer_than 1 "$ERR"
}

height=60 width=103
for program in unetctl unet-train; do
    exits 2 "$program without a verb is refused" $program
    like "$ERR" '^'$program': error: a verb is missing' '... the error says that a verb is missing'
    exits 2 "$program with an unknown verb is refused" $program xyzzy
    like "$ERR" "unknown verb 'xyzzy'.*--help" '... the error points to the help'
    ok '... nothing is printed on stdout' test ! -s "$OUT"
    exits 0 "$program --version" $program --version
    like "$OUT" "^$program [0-9]+\.[0-9]+" '... prints name and version'
    exits 2 "$program help xyzzy" $program help xyzzy
    like "$ERR" "unknown verb 'xyzzy'" '... is as xyzzy --help'
    exits 0 "$program help $(verbs $program | sed -n 1p)" $program help "$(verbs $program | sed -n 1p)"
    like "$OUT" "^Usage: $program $(verbs $program | sed -n 1p)" '... is the help of a verb'
    exits 0 "$program --help" $program --help
    cp "$OUT" "$TMP/help"
    ok '... fits on a screen' no_longer_than "$height" "$TMP/help"
    exits 0 "$program --man" $program --man
    sed 's/\\-/-/g' "$OUT" >"$TMP/man"
    if command -v man >/dev/null && command -v groff >/dev/null; then
        is "$($program --man | man --warnings -E UTF-8 -l -Tutf8 - 2>&1 >/dev/null)" '' \
            '... is good roff'
    else
        skip 'man or groff is not installed' '... is good roff'
    fi
    while read -r verb; do
        check_verb $program "$verb"
    done < <(verbs $program)
done

ok 'the documents are installed' make -s -C "$builddir" install-nobase_dist_docDATA \
    DESTDIR="$TMP/installed"
documents() { # that man, README and they themselves point to, and that are not there
    local doc=$TMP/installed file
    doc=$(dirname "$(find "$TMP/installed" -name README.md)")
    {
        for program in unetctl unet-train; do $program --man; done | sed 's/\\-/-/g' |
            grep -oE '(doc|logs)/[A-Z]+\.md'
        sed -n 's/.*](\([^):]*\.\(md\|png\)\)).*/\1/p' "$doc/README.md"
        sed -n 's/.*](\([^):#]*\.\(md\|png\)\)).*/doc\/\1/p' "$doc"/doc/*.md
    } | sort -u | while read -r file; do [ -e "$doc/$file" ] || echo "$file"; done
}
is "$(documents)" '' '... all that man and they name'
is "$(verbs unetctl | grep -cE '^(nodelist|sandbox|spec)$')" 3 'the verbs are found'
is "$(options unetctl spec | sort -u | grep -c .)" 16 'the options are found'
exits 2 'a misspelled verb is refused' unetctl nodelits
like "$ERR" "did you mean 'unetctl nodelist'" '... the error names the nearest verb'
exits 2 'a verb with a newline is refused' unetctl $'a\n\tb\e'
like "$ERR" "unknown verb 'a\\\\n\\\\tb\\\\x1b'" '... the error shows it on one line'
exits 2 'a misspelled option is refused' unetctl spec --nodelit n1
like "$ERR" "did you mean '--nodelist'" '... the error names the nearest option'
exits 2 'an option without its value is refused' unetctl spec --nodelist
exits 2 'an operand too many is refused' unetctl spec n1
for words in 'site list' 'template list' '--help' 'status --help'; do
    exits 1 \
        "unetctl $words fails if the output cannot be written" bash -c "unetctl $words >/dev/full"
    like "$ERR" 'cannot write to standard output' '... the error says so'
    exits 0 "unetctl $words succeeds with a closed stdout" bash -c "unetctl $words >&-"
done
exits 2 "an option of sbatch before -- is refused" unetctl submit -p short
like "$ERR" "unknown option '-p'.*SBATCH OPTIONS come after '--': submit -- -p\$" \
    "the error says where it belongs"
exits 2 "words after -- are not ignored" unetctl collect -- x
like "$ERR" "unexpected operand 'x'" "the error names the word"

# ---- --quiet and --verbose mean the same for each verb
mkdir -p images
says() { # FILE TEXT: stderr of the last command has these lines alone, or "" for none
    is "$(cat "$ERR")" "$1" "$2"
}
exits 0 "unet-train data synth --quiet" unet-train data synth --out images --count 4 --size 32x32 --quiet
says "" "it writes no notes"
exits 0 "unet-train data split -v" unet-train data split --data images --out split.json -v
like "$ERR" '^unet-train: debug: wrote split.json$' "it names the file that it writes"
like "$ERR" '^unet-train: split.json: ' "beside its notes"
exits 0 "unetctl init -q" unetctl init quiet --data images --site local -q
says "unetctl: warning: $TMP/images: there are only 4 images, part of which is used for validation" \
    "it writes its warning, and no notes"
exits 0 "unetctl config --quiet" unetctl config -C quiet --quiet name
is "$(cat "$OUT")" "name: quiet" "the result is printed"
exits 0 "unetctl generate -v" unetctl generate -C quiet --gpus 1 -v
like "$ERR" '^unetctl: debug: wrote .*/unet-g01-s1/run.json$' "it names the files that it writes"
like "$ERR" '^unetctl: debug: starting [^ ]*unet-train data split ' "and the programs that it starts"
exits 0 "unetctl data stats --quiet" unetctl data stats --data images --quiet
says "" "unet-train gets the option"
exits 0 "UNETCTL_QUIET=1" env UNETCTL_QUIET=1 unetctl generate -C quiet --gpus 2
says "" "the environment says it for all verbs"
exits 0 "... --verbose" env UNETCTL_QUIET=1 unetctl generate -C quiet --gpus 3 --verbose
like "$ERR" 'debug: wrote' "the command line overrides it"
exits 3 "an error of a quiet verb" unetctl status -C none --quiet
says "unetctl: error: study none: No such file or directory" "it is written"
exits 2 "both" unetctl status -q -v
like "$ERR" 'status: --quiet and --verbose exclude each other' "they are refused"

done_testing
