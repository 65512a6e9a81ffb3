#compdef osmroutes
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# zsh completion for osmroutes: bash is asked, by the completion for bash that lies beside this one.
local said
said=$(bash -c '
	compopt() { [ "$2" != filenames ] || is_file=yes; }
	is_file=no COMP_WORDBREAKS= COMP_LINE=$2 COMP_POINT=${#2}
	. "$1" && _osmroutes
	[ $is_file = no ] || exit 3
	printf "%s\n" "${COMPREPLY[@]}"' bash "${${(%):-%x}:A:h:h:h}/bash-completion/completions/osmroutes" "${(j: :)words[1,CURRENT]}")
case $? in
3)	_files ;;
*)	local -a open whole
	open=(${(M)${(f)said}:#*=}) whole=(${${(f)said}:#*=})
	compadd -S '' -- $open
	compadd -- $whole ;;
esac
