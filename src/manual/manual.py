# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The man pages as Markdown: options from the tables, the rest from the pages under docs/.

An option's text is the one under its name in the page, if the page has more to say about it than the
table's one line; so no option can be missing, and none can be there that the program does not know
(tests/manual looks for those).
"""
import os
import re

# Pages under docs/ that are man pages as well.
COMMAND_PAGE = 'osmroutes.1.md'
CONF_PAGE = 'osmroutes.conf.5.md'
# Engines without a page NAME.md of their own: a part each, under "# NAME".
ENGINES_PAGE = 'engines.md'


def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError:
        return ''


def head(title, section, tables):
    return 'title: %s\nsection: %s\nsource: osmroutes %s\nvolume: osmroutes\ndate:\n\n' % (
        title.upper(), section, tables['version'])


def sections(text):
    """[(title, body)] of a page by its second-level headings; the first title is ''."""
    parts = re.split(r'^## (.*)$', re.sub(r'\A# .*\n', '', text), flags=re.M)
    return [('', parts[0].strip('\n'))] + [(parts[i], parts[i + 1].strip('\n'))
                                           for i in range(1, len(parts), 2)]


def without_links(text, tables):
    """Links to pages become their names: engines are man pages, the others lie under share/doc."""
    engines = [e['name'] for e in tables['engines']]

    def name(match):
        label, target = match.groups()
        own = target.partition('.md')[0] == label or target == ENGINES_PAGE + '#' + label
        return '**osmroutes-%s**(7)' % label if own and label in engines else label
    # The package has no fabrics; readers of man pages have theirs.
    text = re.sub(r'\btopologies/[\w-]+\.net\b', 'fabric.topo', text)
    return re.sub(r'\[([^\]]+)\]\(([^)\s]+)\)', name, text)


def definition(term, text):
    lines = [line.strip() if not line.startswith('      ') else line for line in text.split('\n')]
    return '%s\n: %s\n' % (term, '\n  '.join(lines).strip())


# ---- options of engines and of the plugin ----------------------------------------------------------

def table_texts(body, engine=None):
    """{option: text} of a table whose header begins with option, default, values; the last cell names engines."""
    texts = {}
    rows = re.search(r'^\| option \| default \| values \|.*\n\|[-| ]+\n((?:\|.*\n?)*)', body, re.M)
    for line in rows.group(1).splitlines() if rows else ():
        cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line.strip().strip('|'))]
        if not engine or engine in cells[-1].split():
            texts[cells[0].strip('`')] = cells[3]
    return texts


def engine_texts(docs, engine):
    return table_texts(dict(sections(read(os.path.join(docs, CONF_PAGE)))).get('Options of engines', ''), engine)


def param_list(params, texts):
    out = []
    for p in params:
        values = p['values'].replace('|', ', ')
        # Two underscores would be emphasis to lowdown.
        term = '**%s** = %s' % (p['name'].replace('_', '\\_'), p['default'] or '(empty)')
        out.append(definition(term, '%s. Values: %s.' % (
            texts.get(p['name'], p['help']).rstrip('.'), values)))
    return '\n'.join(out) or 'None.\n'


# ---- osmroutes(1) ----------------------------------------------------------------------------------

def option_term(option):
    arg = '*%s*' % option['arg'] if option['arg'] else ''
    names = []
    if option['key']:
        names.append('**-%s**%s' % (option['key'], ' ' + arg if arg and not option['name'] else ''))
    if option['name']:
        shown = ('[=%s]' if option['arg_optional'] else '=%s') % arg if arg else ''
        names.append('**--%s**%s' % (option['name'], shown))
    return ', '.join(names)


DEFINED = re.compile(r'^`[^\n]*`\n: (?:[^\n]|\n(?=[ \n]*  \S))*\n*', re.M)


def defined_options(body):
    """{'--name' or '-x': text} of the definition lists in a section."""
    texts = {}
    for block in DEFINED.findall(body + '\n'):
        term, text = block.split('\n: ', 1)
        for name in re.findall(r'(?<![\w-])--?[a-zA-Z][\w-]*', term):
            texts[name] = text.strip('\n')
    return texts


def option_list(table, texts):
    out = []
    for option in table['options']:
        text = texts.get('--' + option['name']) or texts.get('-' + option['key']) or option['help']
        out.append(definition(option_term(option), text[:1].upper() + text[1:]))
    return '\n'.join(out)


def kinds(tables):
    out = []
    for kind in tables['topologies']:
        options = ' '.join('%s=%s' % (p['name'], p['default']) for p in kind['options'])
        out.append(definition('**%s** %s' % (kind['name'], options), kind['summary'] + '. ' + '; '.join(
            '*%s*: %s' % (p['name'], p['help']) for p in kind['options'])))
    return '\n'.join(out)


def command_section(command, body, tables):
    table = command['table']
    rest = re.sub(r'\n{3,}', '\n\n', DEFINED.sub('', body + '\n')).strip()
    text = '## osmroutes %s\n\n%s\n\n' % (command['name'], rest or table['doc'] or command['summary'])
    if table['options']:
        text += option_list(table, defined_options(body)) + '\n'
    if command['name'] == 'generate':
        text += '\n## Kinds of fabrics\n\n' + kinds(tables)
    return text + '\n'


# Options of every sub-command; the text says so once.
COMMON = ('json', 'csv', 'schema')


def usage_of(option):
    """"[-e ENGINE]...": an option as a synopsis has it. NAME=VALUE may be repeated wherever it stands."""
    if option['key']:
        word = '-' + option['key'] + (' ' + option['arg'] if option['arg'] else '')
    else:
        word = '--' + option['name']
        if option['arg']:
            word += ('[=%s]' if option['arg_optional'] else '=%s') % option['arg']
    again = 'may be repeated' in option['help'] or option['arg'] == 'NAME=VALUE'
    return '[%s]%s' % (word, '...' * again)


def synopsis(tables, width=78):
    """Every sub-command with all its options, as an indented block."""
    lines = []
    for command in tables['commands']:
        table = command['table']
        words = [usage_of(o) for o in table['options'] if o['name'] not in COMMON] + \
            table['args'].replace('\n', ' | ').split(' ')	# argp has alternatives in lines
        line = '    osmroutes ' + command['name']
        for word in words:
            if word and len(line) + 1 + len(word) > width:
                lines.append(line)
                line = ' ' * 19
            line += ' ' * bool(word) + word
        lines.append(line)
    return '\n'.join(lines) + '\n'


def command_page(tables, docs):
    page = dict(sections(read(os.path.join(docs, COMMAND_PAGE))))
    engines = '\n'.join(definition('**osmroutes-%s**(7)' % e['name'], e['summary'])
                        for e in tables['engines'])
    names = [c['name'] for c in tables['commands']]
    commands = ''.join(command_section(c, page.get(c['name'], ''), tables) for c in tables['commands'])
    others = ''.join('# %s\n\n%s\n\n' % (title.upper(), body) for title, body in page.items()
                     if title and title not in names)
    intro = re.sub(r'^ {4}osmroutes .*\n(?: {4,}.*\n)*', '', page.get('', ''), flags=re.M)
    text = (
        '# NAME\n\nosmroutes - routing engines for OpenSM, offline\n\n# SYNOPSIS\n\n%s\n\n'
        '# DESCRIPTION\n\n%s\n\n# COMMANDS\n\n%s# ENGINES\n\n%s\n%s'
        '# SEE ALSO\n\n**osmroutes.conf**(5), %s, **opensm**(8), **ibnetdiscover**(8)\n' % (
            synopsis(tables), intro.strip(), commands, engines, others,
            ', '.join('**osmroutes-%s**(7)' % e['name'] for e in tables['engines'])))
    return head('osmroutes', 1, tables) + without_links(text, tables)


# ---- osmroutes.conf(5), osmroutes-ENGINE(7) --------------------------------------------------------

def conf_page(tables, docs):
    page = sections(read(os.path.join(docs, CONF_PAGE)))
    out = '# NAME\n\nosmroutes.conf - options of the OpenSM plugin osmroutes\n\n'
    for title, body in page:
        if title == 'Options':
            out += '# OPTIONS OF THE PLUGIN\n\n%s\n' % param_list(tables['plugin'], table_texts(body))
            for e in tables['engines']:
                out += '\n# SECTION [%s]\n\nOptions of **osmroutes-%s**(7).\n\n%s\n' % (
                    e['name'], e['name'], param_list(e['options'], engine_texts(docs, e['name'])))
        elif title != 'Options of engines':
            out += '# %s\n\n%s\n\n' % (title.upper() or 'DESCRIPTION', body)
    return head('osmroutes.conf', 5, tables) + without_links(out, tables)


def engine_page(engine, tables, docs):
    text = read(os.path.join(docs, engine['name'] + '.md')) or dict(re.findall(
        r'^# (\S+)\n(.*?)(?=^# |\Z)', read(os.path.join(docs, ENGINES_PAGE)), re.M | re.S)).get(engine['name'], '')
    out = '# NAME\n\nosmroutes-%s - %s\n\n' % (engine['name'], engine['summary'])
    out += '# SYNOPSIS\n\n    event_plugin_name osmroutes\n    routing_engine %s\n\nin *opensm.conf*.\n\n' \
        % engine['name']
    for title, body in sections(text):
        body = re.sub(r'^### ', '## ', body, flags=re.M)
        out += '# %s\n\n%s\n\n' % (title.upper() or 'DESCRIPTION', body)
    out += '# OPTIONS\n\nIn *osmroutes.conf* in section [%s], or **-o** *NAME=VALUE* of **osmroutes route**.\n\n%s\n' \
        % (engine['name'], param_list(engine['options'], engine_texts(docs, engine['name'])))
    if engine['reference'] not in ' '.join(out.split()):
        out += '# REFERENCE\n\n%s\n\n' % engine['reference']
    out += '# SEE ALSO\n\n**osmroutes**(1), **osmroutes.conf**(5), **opensm**(8)\n'
    return head('osmroutes-' + engine['name'], 7, tables) + without_links(out, tables)


def pages(tables, docs):
    """(file name, Markdown) of every man page."""
    yield 'osmroutes.1', command_page(tables, docs)
    yield 'osmroutes.conf.5', conf_page(tables, docs)
    for engine in tables['engines']:
        yield 'osmroutes-%s.7' % engine['name'], engine_page(engine, tables, docs)


def polish(roff):
    """Bold for code, as there is no other font on a terminal; pages with tables ask man for tbl."""
    roff = roff.replace('\\fC', '\\fB').replace('\\f(CB', '\\fB')
    return roff if '\n.TS' not in roff else "'\\\" t\n" + roff
