# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The bash completion: one function, with the words of the tables in it."""

SCRIPT = r'''# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# bash completion for osmroutes %(version)s; generated from its option tables

# Long options of a sub-command; those with "=" at the end want a value.
_osmroutes_options()
{
	case $1 in
%(options)s
	esac
}

# NAME= words: the options of an engine, or of a kind of fabric.
_osmroutes_names()
{
	case $1 in
%(names)s
	esac
}

# What may follow NAME= of an engine or kind.
_osmroutes_values()
{
	case $1.$2 in
%(values)s
	esac
}

# NAME=VALUE for the engines or kinds given after the word.
_osmroutes_settings()
{
	local cur=$1 owner words=""
	shift
	for owner; do
		if [[ $cur == *=* ]]; then
			words+=" $(_osmroutes_values "$owner" "${cur%%%%=*}")"
		else
			words+=" $(_osmroutes_names "$owner")"
		fi
	done
	if [[ $cur == *=* ]]; then
		# bash breaks words at "=": what is completed is what stands behind it.
		[[ $COMP_WORDBREAKS == *=* ]] && COMPREPLY=($(compgen -W "$words" -- "${cur#*=}")) ||
			COMPREPLY=($(compgen -P "${cur%%%%=*}=" -W "$words" -- "${cur#*=}"))
	else
		compopt -o nospace 2>/dev/null
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	fi
}

_osmroutes()
{
	local line=${COMP_LINE:0:COMP_POINT} cur command engines="" kind="" before="" i
	local -a words
	# Words as the shell will see them, not split at "=".
	read -r -a words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cur=${words[-1]}
	[ ${#words[@]} -ge 2 ] && before=${words[-2]}
	COMPREPLY=()
	if [ ${#words[@]} -le 2 ]; then
		COMPREPLY=($(compgen -W "%(commands)s --help --version" -- "$cur"))
		return
	fi
	command=${words[1]}
	for ((i = 2; i < ${#words[@]} - 1; i++)); do
		case ${words[i]} in
		-e | --engine) engines+=" ${words[i + 1]}" ;;
		--engine=*) engines+=" ${words[i]#--engine=}" ;;
		%(kinds_pattern)s) kind=${words[i]} ;;
		esac
	done
	case $command:$before in
	%(with_engines)s)
		COMPREPLY=($(compgen -W "%(engines)s" -- "$cur"))
		return ;;
	%(with_settings)s)
		_osmroutes_settings "$cur" ${engines:-dfsssp}
		return ;;
	esac
	case $command:$cur in
%(words)s
	esac
	case $cur in
	--engine=*)
		COMPREPLY=($(compgen -W "%(engines)s" -- "${cur#*=}"))
		return ;;
	-*)
		COMPREPLY=($(compgen -W "$(_osmroutes_options "$command") --json --csv= --schema --color= --help --usage" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
		return ;;
	esac
	if [ "$command" = key ] && [ ${#words[@]} -eq 3 ]; then
		COMPREPLY=($(compgen -W "place request done status withdraw" -- "$cur"))
		return
	fi
	if [ "$command" = generate ] && [[ $before != -o ]]; then
		if [ -n "$kind" ]; then
			_osmroutes_settings "$cur" "$kind"
		else
			COMPREPLY=($(compgen -W "%(kinds)s" -- "$cur"))
		fi
		return
	fi
	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _osmroutes osmroutes
'''


def word_cases(tables):
    """A case for each option that takes one of some words."""
    return '\n'.join('\t%s:--%s=*)\n\t\tCOMPREPLY=($(compgen -W "%s" -- "${cur#*=}"))\n\t\treturn ;;' %
                     (c['name'], o['name'], o['words'].replace('|', ' '))
                     for c in tables['commands'] for o in c['table']['options'] if o['words'])


def case(pattern, words):
    return '\t%s) echo "%s" ;;' % (pattern, words)


def long_options(command):
    return ' '.join('--%s%s' % (o['name'], '=' if o['arg'] and not o['arg_optional'] else '')
                    for o in command['table']['options'])


def commands_with(tables, option):
    """Case patterns "COMMAND:-x | COMMAND:--option" of the commands that have it."""
    found = []
    for c in tables['commands']:
        for o in c['table']['options']:
            if o['name'] == option:
                found += ['%s:-%s' % (c['name'], o['key'])] if o['key'] else []
                found.append('%s:--%s' % (c['name'], option))
    return ' | '.join(found) or 'none:none'


def script(tables):
    owners = tables['engines'] + tables['topologies']
    values = []
    for owner in owners:
        for p in owner['options']:
            words = p['values'].replace('|', ' ').replace(', ', ' ')
            if '..' not in words and words != 'text' and 'or more' not in words:
                values.append(case('%s.%s' % (owner['name'], p['name']), words))
    engines = ' '.join(e['name'] for e in tables['engines'])
    return SCRIPT % {
        'version': tables['version'],
        'commands': ' '.join(c['name'] for c in tables['commands']),
        'options': '\n'.join(case(c['name'], long_options(c)) for c in tables['commands']),
        'names': '\n'.join(case(o['name'], ' '.join(p['name'] + '=' for p in o['options']))
                           for o in owners),
        'values': '\n'.join(values) or '\t*) ;;',
        'engines': engines + ' all',
        'words': word_cases(tables),
        'kinds': ' '.join(t['name'] for t in tables['topologies']),
        'kinds_pattern': ' | '.join(t['name'] for t in tables['topologies']),
        'with_engines': commands_with(tables, 'engine'),
        'with_settings': commands_with(tables, 'option'),
    }
