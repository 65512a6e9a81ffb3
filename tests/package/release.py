# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""release.py PROJECT BUILD

What a release has to say of itself.
  - LICENSE holds both licences' names and the text of the BSD one.
  - The command and the plugin need no library but those whose licence is known here to go with it.
  - The changelogs have a heading for the version in CMakeLists.txt, and the command says it.
  - The recipes for public forges call .ci/run, every script they name may be run, and .ci/run ends in scripts/test.
"""
import os
import re
import subprocess
import sys

OURS = 'GPL-2.0-only OR Linux-OpenIB'
# Library -> licence, as Debian's copyright files have it.
LIBRARIES = {
    'libc.so.6': 'LGPL-2.1-or-later', 'libm.so.6': 'LGPL-2.1-or-later',
    'ld-linux-x86-64.so.2': 'LGPL-2.1-or-later', 'ld-linux-aarch64.so.1': 'LGPL-2.1-or-later',
    'libxxhash.so.0': 'BSD-2-Clause', 'libjansson.so.4': 'MIT',
    'libopensm.so': OURS, 'libosmcomp.so': OURS, 'libibumad.so.3': OURS, 'libibmad.so.5': OURS,
    'libibnetdisc.so.5': OURS, 'libgcc_s.so.1': 'GPL-3.0-or-later WITH GCC-exception-3.1',
}
PROJECT, BUILD = sys.argv[1:3]
errors = []


def expect(good, text):
    if not good:
        errors.append(text)


def read(path):
    with open(os.path.join(PROJECT, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


text = read('LICENSE')
for words in ('GPL-2.0', 'OpenIB.org BSD', 'Redistributions of source code must retain'):
    expect(words in text, 'LICENSE does not say "%s"' % words)

version = re.search(r'^project\(osmroutes VERSION ([\d.]+)', read('CMakeLists.txt'), re.M).group(1)
core, command = 'libosmroutes-core-%s.so' % version, os.path.join(BUILD, 'src/cli/osmroutes')
for path in (os.path.join(BUILD, 'libosmroutes.so'), os.path.join(BUILD, 'osmroutes', core), command):
    needed = re.findall(r'\(NEEDED\).*\[(.*)\]', said('readelf', '-d', path))
    expect(needed, '%s: no libraries found' % path)
    for library in needed:
        # The libraries of OpenSM have another number in every series.
        expect(library in (core, *LIBRARIES) or re.sub(r'\.so\..*', '.so', library) in LIBRARIES,
               '%s needs %s, whose licence nobody has looked at' % (path, library))

expect(re.search(r'^## \[%s\]' % re.escape(version), read('docs/CHANGELOG.md'), re.M),
       'docs/CHANGELOG.md has no heading for version %s' % version)
expect(read('debian/changelog').startswith('osmroutes (%s) ' % version),
       'debian/changelog does not begin with version %s' % version)
expect(said(command, '--version') == 'osmroutes %s\n' % version, 'the command has another version than CMakeLists.txt')

for recipe in '.github/workflows/test.yml', '.gitlab-ci.yml':
    text = read(recipe)
    expect(re.search(r'^ *- (?:run: )?\.ci/run$', text, re.M), '%s does not call .ci/run' % recipe)
    expect('\t' not in text, '%s: YAML has no tabs' % recipe)
    for script in set(re.findall(r'(?<![\w/.-])((?:\.ci|scripts)/[\w-]+)', text)):
        expect(os.access(os.path.join(PROJECT, script), os.X_OK), '%s calls %s, which is not there' % (recipe, script))
expect(re.search(r'^exec scripts/test "\$@"$', read('.ci/run'), re.M), '.ci/run does not run scripts/test')
sys.exit('\n'.join(errors) or 0)
