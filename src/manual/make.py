# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Writes all that is generated from the option tables:

    make.py OSR-TABLES DOCS DIR LOWDOWN

DIR gets osmroutes.1, osmroutes.conf.5 and osmroutes-ENGINE.7 (with lowdown only), and the commented osmroutes.conf.
"""
import json
import os
import subprocess
import sys
import textwrap

import manual

# osmroutes.conf as it is shipped: every option, commented out, with its default.
HEAD = '''# osmroutes.conf - options of the OpenSM plugin osmroutes, version %s.
# Read once when OpenSM starts. Every line is commented out and shows a default: see osmroutes.conf(5).
'''


def comment(text):
    return '\n'.join(textwrap.wrap(text, 98, initial_indent='# ', subsequent_indent='# ')) + '\n'


def options(params):
    return ''.join('\n%s%s\n' % (
        comment(p['help'] + ('' if p['values'] == 'text' else ' (%s)' % p['values'].replace('|', ', '))),
        ('#%s = %s' % (p['name'], p['default'])).rstrip()) for p in params)


def config(tables):
    return HEAD % tables['version'] + options(tables['plugin']) + ''.join(
        '\n\n%s[%s]\n%s' % (comment(e['summary']), e['name'], options(e['options'])) for e in tables['engines'])


def to_roff(lowdown, page):
    """The title, section and source of a page are in its head, so no option is needed for them."""
    run = subprocess.run([lowdown, '-s', '-tman', '--out-no-smarty', '--parse-no-super', '-'], input=page, check=True,
                         capture_output=True, text=True)
    return manual.polish(run.stdout)


def main():
    program, docs, out, lowdown = sys.argv[1:5]
    tables = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    files = {'osmroutes.conf': config(tables)}
    for name, page in manual.pages(tables, docs):
        files[name + '.md'] = page
        if 'NOTFOUND' not in lowdown:
            files[name] = to_roff(lowdown, page)
    os.makedirs(out, exist_ok=True)
    for name, text in dict(files, done='').items():
        with open(os.path.join(out, name), 'w', encoding='utf-8') as file:
            file.write(text)


main()
