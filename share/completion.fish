# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fish completion for osmroutes: bash is asked, by the completion for bash that lies beside this one.
set -g __osmroutes_bash (path resolve (status dirname)/../..)/bash-completion/completions/osmroutes

function __osmroutes_words
    set -l said (bash -c '
        compopt() { [ "$2" != filenames ] || is_file=yes; }
        is_file=no COMP_WORDBREAKS= COMP_LINE=$2 COMP_POINT=${#2}
        . "$1" && _osmroutes
        [ $is_file = no ] || exit 3
        printf "%s\n" "${COMPREPLY[@]}"' bash $__osmroutes_bash (commandline -cp))
    if test $status = 3
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $said
    end
end

complete -c osmroutes -f -a '(__osmroutes_words)'
