# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""osmroutes.conf as it is shipped: every option, commented out, with its default."""
import textwrap

HEAD = '''# osmroutes.conf - options of the OpenSM plugin osmroutes, version %s.
# Read once when OpenSM starts. Every line is commented out and shows a default: see osmroutes.conf(5).
'''


def comment(text):
    return '\n'.join(textwrap.wrap(text, 98, initial_indent='# ', subsequent_indent='# ')) + '\n'


def options(params):
    out = ''
    for p in params:
        values = '' if p['values'] == 'text' else ' (%s)' % p['values'].replace('|', ', ')
        out += '\n' + comment(p['help'] + values)
        out += ('#%s = %s' % (p['name'], p['default'])).rstrip() + '\n'
    return out


def config(tables):
    out = HEAD % tables['version'] + options(tables['plugin'])
    for e in tables['engines']:
        out += '\n\n# %s\n' % e['summary'] if len(e['summary']) < 97 else '\n\n' + comment(e['summary'])
        out += '[%s]\n' % e['name'] + options(e['options'])
    return out
