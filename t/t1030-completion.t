#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion in bash and, where they are installed, in zsh and fish: the scripts are loaded and
# asked.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

mkdir -p data/images data/masks
unetctl init one --data data --site local 2>/dev/null
unetctl generate -C one --gpus 1..3 2>/dev/null

for shell in bash zsh fish; do
    exits 0 "completion $shell prints a script" unetctl completion $shell
    cp "$OUT" unetctl.$shell
    unet-train --completion $shell >unet-train.$shell
done
exits 2 "another shell is refused" unetctl completion tcsh
like "$ERR" 'bash, zsh, fish' "the error lists the known shells"
is "$(unetctl completion words runs -C one | tr '\n' ' ')" "unet-g01-s1 unet-g02-s1 unet-g03-s1 " \
    "ids of runs are printed"
is "$(unetctl completion words sites | grep -c '^generic$')" 1 "names of sites are printed"

# Prints what bash offers for the last of these words.
offer() {
    bash --norc -c '. ./unetctl.bash; . ./unet-train.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        handler=$(complete -p "$1" | sed "s/.*-F \([^ ]*\).*/\1/")
        $handler 2>/dev/null
        printf "%s " "${COMPREPLY[@]}"' bash "$@"
}
is "$(offer unetctl pl)" "plan " "bash: a verb is completed"
is "$(offer unetctl plan --max)" "--max-gpu-hours " "bash: an option is completed"
is "$(offer unetctl plan --site gen)" "generic " "bash: a site is completed"
is "$(offer unetctl plan --site = gen)" "generic " "bash: a value after an equals sign is completed"
is "$(offer unetctl logs -C one unet-g0)" "unet-g01-s1 unet-g02-s1 unet-g03-s1 " \
    "bash: a run of the study given by -C is completed"
is "$(offer unetctl plan --set train.lr_sca)" "train.lr_scaling " "bash: a key is completed"
is "$(offer unetctl sandbox sta)" "status " "bash: a choice is completed"
is "$(offer unetctl site sh)" "show " "bash: a choice with operands is completed"
is "$(offer unetctl site show juw)" "juwels " "bash: an operand of a choice is completed"
is "$(offer unetctl template show '')" "run_file.sh submit_file.sh " \
    "bash: words of an operand are offered"
is "$(offer unetctl template '')" "list show " "bash: choices are offered, placeholders are not"
is "$(offer unetctl data s)" "split stats synth " "bash: verbs of unet-train data are completed"
is "$(offer unetctl completion words sh)" "shells " "bash: kinds of words are completed"
is "$(offer unetctl plan --engine emb)" "embedded " "bash: an engine is completed"
is "$(offer unetctl init two --data da)" "data " "bash: a folder is completed"
is "$(offer unetctl submit -- --par)" " " "bash: nothing is offered after --"
is "$(offer unet-train data sy)" "synth " "bash: the second word of a verb is completed"
is "$(offer unet-train data synth --cou)" "--count " \
    "bash: options of a verb with two words are completed"
is "$(offer unet-train train --set train.lr_sca)" "train.lr_scaling " \
    "bash: a key of unet-train is completed"
is "$(offer unet-train train --set '' | wc -w)" \
    "$(unet-train train --help | sed '1,/^Settings/d' | grep -c '^  [a-z0-9_.]*=')" \
    "bash: all keys that its help lists are offered"
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
is "$(missing)" '' "bash: all options of all verbs are offered"

if command -v zsh >/dev/null; then
    zsh_offer() {
        zsh -f -c 'compdef() { :; }; compadd() { shift; print -rl -- "${(@M)@:#$PREFIX*}"; }
            source ./unetctl.zsh; words=("$@") CURRENT=$# PREFIX=${@[-1]}; _unetctl' zsh "$@" |
                tr '\n' ' '
    }
    is "$(zsh_offer unetctl pl)" "plan " "zsh: a verb is completed"
    is "$(zsh_offer unetctl plan --max)" "--max-gpu-hours " "zsh: an option is completed"
    is "$(zsh_offer unetctl logs -C one unet-g02)" "unet-g02-s1 " "zsh: a run is completed"
    is "$(zsh_offer unetctl site show juw)" "juwels " "zsh: a site after show is completed"
    is "$(zsh_offer unetctl template show '')" "run_file.sh submit_file.sh " \
        "zsh: templates are offered"
    is "$(zsh_offer unetctl data s)" "split stats synth " \
        "zsh: verbs of unet-train data are completed"
    is "$(zsh -f -c 'autoload -Uz compinit; compinit -u -D; source ./unetctl.zsh; print -r -- $_comps[unetctl]')" \
        _unetctl "zsh: its completion system loads the script"
else
    skip 'zsh is not installed' 'zsh'
fi
if command -v fish >/dev/null; then
    fish_offer() { fish --no-config -c "source unetctl.fish; complete -C '$1'" | cut -f1 | sort |
        tr '\n' ' '; }
    is "$(fish_offer 'unetctl pl')" "plan " "fish: a verb is completed"
    is "$(fish_offer 'unetctl plan --max')" "--max-gpu-hours " "fish: an option is completed"
    is "$(cd one && fish --no-config -c "source ../unetctl.fish; complete -C 'unetctl logs unet-g02'" | cut -f1)" \
        "unet-g02-s1" "fish: a run is completed"
    is "$(fish_offer 'unetctl plan --site gene')" "generic " "fish: a site is completed"
    is "$(fish_offer 'unetctl site show juw')" "juwels " "fish: a site after show is completed"
    is "$(fish_offer 'unetctl template show ')" "run_file.sh submit_file.sh " \
        "fish: templates are offered"
else
    skip 'fish is not installed' 'fish'
fi
done_testing
