# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# bash completion for osmroutes. All words are those that the command itself prints.

# Lines "    NAME=DEFAULT  text (a|b)" of an engine or a kind of fabric: its names, or the values of the one that is typed.
_osmroutes_settings()
{
	local name=${1%%=*}
	if [[ $1 == *=* ]]; then
		sed -n "s/^    $name=.*(\([^()]*|[^()]*\))\$/\1/p; s/^    $name=\(yes\|no\) .*/yes no/p" | tr '|' ' '
	else
		sed -n 's/^    \([a-z][a-z_0-9]*=\).*/\1/p'
	fi
}

_osmroutes()
{
	local line=${COMP_LINE:0:COMP_POINT} cur before help words="" engine engines="" kind=none i
	local -a typed
	# Words as the shell will see them, not split at "=".
	read -r -a typed <<<"$line"
	[[ $line == *[[:space:]] ]] && typed+=("")
	cur=${typed[-1]} before=${typed[-2]}
	COMPREPLY=()
	if [ ${#typed[@]} -le 2 ] || [ "${typed[1]}" = help ]; then
		words=$(osmroutes --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p')
		[ ${#typed[@]} -gt 2 ] || words+=" help version --help --version"
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		return
	fi
	help=$(osmroutes "${typed[1]}" --help)
	for ((i = 2; i < ${#typed[@]} - 1; i++)); do
		case ${typed[i]} in
		-e | --engine) engines+=" ${typed[i + 1]}" ;;
		--engine=*) engines+=" ${typed[i]#--engine=}" ;;
		*) [[ $help == *$'\n'"  ${typed[i]}  "* ]] && kind=${typed[i]} ;;
		esac
	done
	if [[ $help == *"-e, --engine="* && ($before =~ ^(-e|--engine)$ || $cur == --engine=*) ]]; then
		words="$(osmroutes conf --list | grep '^[a-z]') all"
	elif [[ $help == *"-o, --option="* && $before =~ ^(-o|--option)$ ]]; then
		for engine in ${engines:-dfsssp}; do
			words+=" $(osmroutes conf --list | sed -n "/^$engine\$/,/^\$/p" | _osmroutes_settings "$cur")"
		done
	elif [[ $cur == --*=* && $help =~ " ${cur%%=*}="(WORDS?|FORM|WHEN) ]]; then
		# What the command would take, by its complaint about another word.
		words=$(osmroutes "${typed[1]}" "${cur%%=*}=?" 2>&1 | sed -n 's/.*: expected \(.*\)/\1/p' | sed 's/,/ /g; s/ or / /g')
	elif [[ $cur == -* ]]; then
		words="$({ osmroutes --help; echo "$help"; } | sed -n 's/csv\[/csv/; s/^ \+\(-., \)\?\(--[a-z-]*=\?\).*/\2/p')"
	elif [[ $help == *$'\nKinds of fabrics'* && $before != -o ]]; then
		words=$(sed -n '/^Kinds of fabrics/,$s/^  \([a-z]\+\)  .*/\1/p' <<<"$help")
		[ "$kind" = none ] || words=$(sed -n "/^  $kind  /,/^\$/p" <<<"$help" | _osmroutes_settings "$cur")
	elif [ ${#typed[@]} -eq 3 ]; then
		words=$(sed -n "s/^.*osmroutes ${typed[1]} \[OPTION\.\.\.\] \([a-z]\+\)\b.*/\1/p" <<<"$help")
	fi
	if [ -z "$words" ]; then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	elif [[ $cur == *=* && $COMP_WORDBREAKS != *=* ]]; then
		COMPREPLY=($(compgen -P "${cur%%=*}=" -W "$words" -- "${cur#*=}"))
	else
		# bash breaks words at "=": what is completed is what stands behind it.
		COMPREPLY=($(compgen -W "$words" -- "${cur#*=}"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	fi
}
complete -F _osmroutes osmroutes
