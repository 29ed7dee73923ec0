#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion in bash, and in zsh and fish where they are installed: loaded and asked.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

mkdir -p data/images data/masks
unetctl init one --data data --site local 2>/dev/null
unetctl generate -C one --gpus 1..3 2>/dev/null

for shell in bash zsh fish; do
    exits 0 "completion $shell" unetctl completion $shell
    cp "$OUT" unetctl.$shell
    unet-train --completion $shell >unet-train.$shell
done
exits 2 "another shell" unetctl completion tcsh
like "$ERR" 'bash, zsh, fish' "lists the known ones"
is "$(unetctl completion words runs -C one | tr '\n' ' ')" "unet-g01-s1 unet-g02-s1 unet-g03-s1 " \
    "ids of runs"
is "$(unetctl completion words sites | grep -c '^generic$')" 1 "names of sites"

# What bash offers for the words; the last one is being typed.
offer() {
    bash --norc -c '. ./unetctl.bash; . ./unet-train.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        handler=$(complete -p "$1" | sed "s/.*-F \([^ ]*\).*/\1/")
        $handler 2>/dev/null
        printf "%s " "${COMPREPLY[@]}"' bash "$@"
}
is "$(offer unetctl pl)" "plan " "bash: a verb"
is "$(offer unetctl plan --max)" "--max-gpu-hours " "an option"
is "$(offer unetctl plan --site gen)" "generic " "a site"
is "$(offer unetctl plan --site = gen)" "generic " "behind an equals sign, as readline cuts it"
is "$(offer unetctl logs -C one unet-g0)" "unet-g01-s1 unet-g02-s1 unet-g03-s1 " \
    "a run of the study that was named"
is "$(offer unetctl plan --set train.lr_sca)" "train.lr_scaling " "a key"
is "$(offer unetctl sandbox sta)" "status " "a choice"
is "$(offer unetctl site sh)" "show " "also where it has operands"
is "$(offer unetctl site show juw)" "juwels " "and what follows one"
is "$(offer unetctl template show '')" "run_file.sh submit_file.sh " "or the words that may"
is "$(offer unetctl template '')" "list show " "which are no choices themselves"
is "$(offer unetctl data s)" "split stats synth " "the verbs of unet-train data"
is "$(offer unetctl completion words sh)" "shells " "kinds of words"
is "$(offer unetctl plan --engine emb)" "embedded " "an engine"
is "$(offer unetctl init two --data da)" "data " "a folder"
is "$(offer unetctl submit -- --par)" " " "nothing of ours behind --"
is "$(offer unet-train data sy)" "synth " "the second word of a verb"
is "$(offer unet-train data synth --cou)" "--count " "and its options"
is "$(offer unet-train train --set train.lr_sca)" "train.lr_scaling " "a key of unet-train's"
is "$(offer unet-train train --set '' | wc -w)" \
    "$(unet-train train --help | sed '1,/^Settings/d' | grep -c '^  [a-z0-9_.]*=')" "as many as its help lists"
missing() { # every verb and option of the help is offered
    local verb option offered
    for verb in $(unetctl --man | sed -n 's/^\.B unetctl //p'); do
        [ "$verb" = data ] && continue
        offered=" $(offer unetctl "$verb" --) "
        for option in $(unetctl "$verb" --help |
            sed -n '/^Options:/,/^$/s/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'); do
            [[ $offered == *" $option "* ]] || echo "$verb $option"
        done
    done
}
is "$(missing)" '' "all options of all verbs"

if command -v zsh >/dev/null; then
    zsh_offer() {
        zsh -f -c 'compdef() { :; }; compadd() { shift; print -rl -- "${(@M)@:#$PREFIX*}"; }
            source ./unetctl.zsh; words=("$@") CURRENT=$# PREFIX=${@[-1]}; _unetctl' zsh "$@" |
                tr '\n' ' '
    }
    is "$(zsh_offer unetctl pl)" "plan " "zsh: a verb"
    is "$(zsh_offer unetctl plan --max)" "--max-gpu-hours " "an option"
    is "$(zsh_offer unetctl logs -C one unet-g02)" "unet-g02-s1 " "a run"
    is "$(zsh_offer unetctl site show juw)" "juwels " "a site behind show"
    is "$(zsh_offer unetctl template show '')" "run_file.sh submit_file.sh " "the templates"
    is "$(zsh_offer unetctl data s)" "split stats synth " "the verbs of unet-train data"
    is "$(zsh -f -c 'autoload -Uz compinit; compinit -u -D; source ./unetctl.zsh; print -r -- $_comps[unetctl]')" \
        _unetctl "zsh's own system takes it"
else
    skip 'zsh is not installed' 'zsh'
fi
if command -v fish >/dev/null; then
    fish_offer() { fish --no-config -c "source unetctl.fish; complete -C '$1'" | cut -f1 | sort |
        tr '\n' ' '; }
    is "$(fish_offer 'unetctl pl')" "plan " "fish: a verb"
    is "$(fish_offer 'unetctl plan --max')" "--max-gpu-hours " "an option"
    is "$(cd one && fish --no-config -c "source ../unetctl.fish; complete -C 'unetctl logs unet-g02'" | cut -f1)" \
        "unet-g02-s1" "a run"
    is "$(fish_offer 'unetctl plan --site gene')" "generic " "a site"
    is "$(fish_offer 'unetctl site show juw')" "juwels " "a site behind show"
    is "$(fish_offer 'unetctl template show ')" "run_file.sh submit_file.sh " "the templates"
else
    skip 'fish is not installed' 'fish'
fi
done_testing
