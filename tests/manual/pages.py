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


def same(page, what, has, known):
    if has != known:
        wrong(page, '%s: there is %s, there has to be %s' % (what, sorted(has - known), sorted(known - has)))


def said(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


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
    sections, prose = parts(page, r'^ {3}osmroutes (\S+)$'), parts(read(PROJECT, 'docs/osmroutes.1.md'), r'^## (\S+)$')
    synopses = re.split(r'^ {7}osmroutes ', parts(page, r'^([A-Z]+)$').get('SYNOPSIS', ''), flags=re.M)[1:]
    same('osmroutes.1', 'sub-commands', set(sections), set(commands))
    if [s.split()[0] for s in synopses] != commands:
        wrong('osmroutes.1', 'has synopses of %s' % [s.split()[0] for s in synopses])
    for name, synopsis in zip(commands, synopses):
        # --options at the beginning of a line of --help, without those argp has by itself, and their letters.
        known = {long: short for short, long in re.findall(r'^ +(?:-(\w), )?--([A-Za-z][\w-]*)', said(name, '--help'), re.M)
                 if long not in ('help', 'usage', 'version')}
        body = re.split(r'^\S', sections.get(name, ''), flags=re.M)[0]
        same('osmroutes.1', name, set(re.findall(r'^ {7}(?:-\w, )?--([A-Za-z][\w-]*)', body, re.M)), set(known))
        explained = ' '.join(re.findall(r'^`(-.*)`$', prose.get(name, ''), re.M))
        same('docs/osmroutes.1.md', name, set(re.findall(r'--([A-Za-z][\w-]*)', explained)) - set(known), set())
        same('osmroutes.1', 'the synopsis of ' + name, set(), {
            long for long, short in known.items() if long not in ('json', 'csv', 'schema') and not short and '--' + long not in synopsis})


def check_options(page, text, options):
    for name, default in options:
        if not re.search(r'^ {7}%s = %s$' % (re.escape(name), re.escape(default or '(empty)')), text, re.M):
            wrong(page, 'does not say "%s = %s"' % (name, default))


def check_engine_pages(conf):
    sections = parts(conf, r'^SECTION \[(.+)\]$')
    for block in said('conf', '--list').strip().split('\n\n'):
        name = block.split('\n')[0]
        options = re.findall(r'^ {4}([a-z]\w*)=(\S*) ', block, re.M)
        page = 'osmroutes-%s.7' % name
        text = shown(page)
        wanted = {'NAME', 'SYNOPSIS', 'WHEN TO USE IT', 'WHAT IT GUARANTEES', 'OPTIONS', 'LIMITS'}
        same(page, 'sections', wanted & set(text.split('\n')), wanted)
        check_options(page, text, options)
        check_options('osmroutes.conf.5', sections.get(name, ''), options)


def check_plugin_options(conf):
    """The plugin has no command that lists its options: those of the shipped file count, which a test
    under tests/osm feeds to the plugin."""
    options = re.findall(r'^#(\w+) = ?(.*)$', read(MANUAL, 'osmroutes.conf').split('\n[')[0], re.M)
    check_options('osmroutes.conf.5', parts(conf, r'^(OPTIONS OF THE PLUGIN)$').get('OPTIONS OF THE PLUGIN', ''), options)
    own = read(PROJECT, 'docs/osmroutes.conf.5.md').partition('\n## Options of engines\n')[0]
    rows = re.findall(r'^\| `(\w+)` \| `(.*?)` \|', own, re.M)
    if rows != options or not options:
        wrong('docs/osmroutes.conf.5.md', 'has options and defaults %s, the plugin %s' % (rows, options))


def main():
    if not shutil.which('man') or not os.path.exists(os.path.join(MANUAL, 'osmroutes.1')):
        print('skipped: man or lowdown is not installed')
        return 77
    commands, conf = re.findall(r'^  ([a-z]\w*) +\S', said('--help').split('Commands:')[1], re.M), shown('osmroutes.conf.5')
    check_command_page(commands)
    check_engine_pages(conf)
    check_plugin_options(conf)
    print('\n'.join(errors + ['%d sub-commands, %d mistakes' % (len(commands), len(errors))]))
    return 1 if errors or not commands else 0


sys.exit(main())
