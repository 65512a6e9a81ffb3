# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""pages.py OSMROUTES MANUAL PROJECT

Are the man pages complete and right? What they should say is taken from the running command
(`osmroutes --help`, `osmroutes NAME --help`, `osmroutes conf --list`), what they do say from man, as a
reader sees it.
  - osmroutes(1) has every sub-command with every long option, in its synopsis too, and no option besides.
  - osmroutes-ENGINE(7) and osmroutes.conf(5) have every option with its default, and every engine has a
    page that says when to use it, what it guarantees and what its limits are.
  - docs/osmroutes.1.md explains no option that the sub-command does not know.
  - man has no complaint about any page.
"""
import os
import re
import shutil
import subprocess
import sys

errors = []
COMMAND, MANUAL, PROJECT = sys.argv[1:4]


def wrong(page, text):
    errors.append('%s: %s' % (page, text))


def said(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


def long_options(text):
    """--options at the beginning of a line of --help, without those argp has by itself."""
    found = set(re.findall(r'^ +(?:-\w, )?--([A-Za-z][\w-]*)', text, re.M))
    return found - {'help', 'usage', 'version'}


def shown(page):
    """A man page as text in lines too long to be broken; complaints, in 80 columns too, are mistakes."""
    for width in ('80', '1000'):
        env = dict(os.environ, MANWIDTH=width, LC_ALL='C.UTF-8', MAN_KEEP_FORMATTING='')
        run = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', os.path.join(MANUAL, page)],
                             env=env, capture_output=True, text=True)
        for line in run.stderr.splitlines():
            wrong(page, 'in %s columns man says: %s' % (width, line))
    return re.sub(r'.\x08', '', run.stdout)


def parts(text, heading):
    """{heading: what follows up to the next one} of a rendered page."""
    found = re.split(heading, text, flags=re.M)
    return dict(zip(found[1::2], found[2::2]))


def check_command_page(commands):
    page = shown('osmroutes.1')
    sections = parts(page, r'^ {3}osmroutes (\S+)$')
    source = open(os.path.join(PROJECT, 'docs/osmroutes.1.md'), encoding='utf-8').read()
    prose = parts(source, r'^## (\S+)$')
    for name in commands:
        if name not in sections:
            wrong('osmroutes.1', 'does not have the sub-command %s' % name)
            continue
        known = long_options(said(name, '--help'))
        body = re.split(r'^\S', sections[name], flags=re.M)[0]
        has = set(re.findall(r'^ {7}(?:-\w, )?--([A-Za-z][\w-]*)', body, re.M))
        for option in known - has:
            wrong('osmroutes.1', '%s: does not have --%s' % (name, option))
        for option in has - known:
            wrong('osmroutes.1', '%s: has --%s, which the program does not know' % (name, option))
        for term in re.findall(r'^`(-.*)`$', prose.get(name, ''), re.M):
            for option in set(re.findall(r'--([A-Za-z][\w-]*)', term)) - known:
                wrong('docs/osmroutes.1.md', '%s: explains --%s, which the program does not know'
                      % (name, option))
    synopses = re.split(r'^ {7}osmroutes ', parts(page, r'^([A-Z]+)$').get('SYNOPSIS', ''), flags=re.M)[1:]
    for name, words in (s.split(None, 1) if ' ' in s else (s.strip(), '') for s in synopses):
        known = said(name, '--help')
        missing = [o for o in long_options(known) - {'json', 'csv', 'schema'}
                   if '--' + o not in words and not re.search(r'^ +-(\w), --%s\b' % o, known, re.M)]
        if missing:
            wrong('osmroutes.1', 'the synopsis of %s lacks --%s' % (name, missing[0]))
    if [s.split()[0] for s in synopses] != commands:
        wrong('osmroutes.1', 'has synopses of %s' % [s.split()[0] for s in synopses])
    for name in sections.keys() - set(commands):
        wrong('osmroutes.1', 'has the sub-command %s, which there is not' % name)


def check_options(page, text, options):
    for name, default in options:
        if not re.search(r'^ {7}%s = %s$' % (re.escape(name), re.escape(default or '(empty)')), text,
                         re.M):
            wrong(page, 'does not say "%s = %s"' % (name, default))


def check_engine_pages():
    conf = shown('osmroutes.conf.5')
    sections = parts(conf, r'^SECTION \[(.+)\]$')
    for block in said('conf', '--list').strip().split('\n\n'):
        name = block.split('\n')[0]
        options = re.findall(r'^ {4}([a-z]\w*)=(\S*) ', block, re.M)
        page = 'osmroutes-%s.7' % name
        if not os.path.exists(os.path.join(MANUAL, page)):
            wrong(page, 'is missing')
            continue
        text = shown(page)
        for heading in ('NAME', 'SYNOPSIS', 'WHEN TO USE IT', 'WHAT IT GUARANTEES', 'OPTIONS', 'LIMITS'):
            if not re.search('^%s$' % heading, text, re.M):
                wrong(page, 'has no section %s' % heading)
        check_options(page, text, options)
        check_options('osmroutes.conf.5', sections.get(name, ''), options)
    check_plugin_options(conf)


def check_plugin_options(conf):
    """The plugin has no command that lists its options: those of the shipped file count, which a test
    under tests/osm feeds to the plugin."""
    with open(os.path.join(MANUAL, 'osmroutes.conf'), encoding='utf-8') as file:
        own = file.read().split('\n[')[0]
    options = re.findall(r'^#(\w+) = ?(.*)$', own, re.M)
    if not options:
        wrong('osmroutes.conf', 'has no options of the plugin')
    check_options('osmroutes.conf.5', parts(conf, r'^(OPTIONS OF THE PLUGIN)$').get(
        'OPTIONS OF THE PLUGIN', ''), options)
    with open(os.path.join(PROJECT, 'docs/osmroutes.conf.5.md'), encoding='utf-8') as file:
        own = file.read().partition('\n## Options of engines\n')[0]
    rows = re.findall(r'^\| `(\w+)` \| `(.*?)` \|', own, re.M)
    if rows != options:
        wrong('docs/osmroutes.conf.5.md', 'has options and defaults %s, the plugin %s' % (rows, options))


def main():
    if not shutil.which('man') or not os.path.exists(os.path.join(MANUAL, 'osmroutes.1')):
        print('skipped: man or lowdown is not installed')
        return 77
    commands = re.findall(r'^  ([a-z]\w*) +\S', said('--help').split('Commands:')[1], re.M)
    check_command_page(commands)
    check_engine_pages()
    for error in errors:
        print(error)
    print('%d sub-commands, %d mistakes' % (len(commands), len(errors)))
    return 1 if errors or not commands else 0


sys.exit(main())
