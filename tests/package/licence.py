# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""licence.py PROJECT BUILD

Is everything under the one licence, and may everything that is linked be linked?
  - Every source carries exactly the project's SPDX expression; no file has another one.
  - LICENSE holds both licences' names and the text of the BSD one.
  - The command and the plugin need no library but those whose licence is known here to go with it.
  - The version stands in CMakeLists.txt alone, and the changelog has a heading for it.
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


def tracked():
    run = subprocess.run(['git', '-C', PROJECT, 'ls-files', '-z'], capture_output=True, text=True)
    if run.returncode == 0 and run.stdout:
        return run.stdout.strip('\0').split('\0')
    found = []
    for folder, folders, files in os.walk(PROJECT):
        folders[:] = [f for f in folders if not f.startswith('build') and f not in ('.git', '__pycache__')]
        found += [os.path.relpath(os.path.join(folder, f), PROJECT) for f in files]
    return found


def read(path):
    with open(os.path.join(PROJECT, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def check_sources():
    n = 0
    for path in tracked():
        if not os.path.isfile(os.path.join(PROJECT, path)):
            continue
        for found in re.findall(r'^.{0,8}SPDX-License-Identifier: (.*?)(?: \*/)?$', read(path), re.M):
            n += 1
            if found != OURS:
                errors.append('%s is under "%s"' % (path, found))
    if n < 50:
        errors.append('only %d licence lines found' % n)
    return n


def check_libraries():
    version = re.search(r'^project\(osmroutes VERSION ([\d.]+)', read('CMakeLists.txt'), re.M).group(1)
    core = 'libosmroutes-core-%s.so' % version
    for path in ('libosmroutes.so', os.path.join('osmroutes', core), 'src/cli/osmroutes'):
        out = subprocess.run(['readelf', '-d', os.path.join(BUILD, path)], check=True,
                             capture_output=True, text=True).stdout
        needed = re.findall(r'\(NEEDED\).*\[(.*)\]', out)
        if not needed:
            errors.append('%s: no libraries found' % path)
        for library in needed:
            # The libraries of OpenSM have another number in every series.
            if library not in (core, *LIBRARIES) and re.sub(r'\.so\..*', '.so', library) not in LIBRARIES:
                errors.append('%s needs %s, whose licence nobody has looked at' % (path, library))


def check_version():
    version = re.search(r'^project\(osmroutes VERSION ([\d.]+)', read('CMakeLists.txt'), re.M).group(1)
    if not re.search(r'^## \[%s\]' % re.escape(version), read('docs/CHANGELOG.md'), re.M):
        errors.append('docs/CHANGELOG.md has no heading for version %s' % version)
    if not read('debian/changelog').startswith('osmroutes (%s) ' % version):
        errors.append('debian/changelog does not begin with version %s' % version)
    said = subprocess.run([os.path.join(BUILD, 'src/cli/osmroutes'), '--version'], check=True,
                          capture_output=True, text=True).stdout.strip()
    if said != 'osmroutes ' + version:
        errors.append('the command calls itself "%s", CMakeLists.txt %s' % (said, version))
    for path in tracked():
        if re.match(r'(src|engines|include|share|cmake|scripts)/', path) and \
                re.search(r'\b%s\b' % re.escape(version), read(path)):
            errors.append('%s: the version stands there, too' % path)


def main():
    n = check_sources()
    text = read('LICENSE')
    for words in ('GPL-2.0', 'OpenIB.org BSD', 'Redistributions of source code must retain'):
        if words not in text:
            errors.append('LICENSE does not say "%s"' % words)
    check_libraries()
    check_version()
    for error in errors:
        print(error)
    print('%d licence lines, %d mistakes' % (n, len(errors)))
    return 1 if errors else 0


sys.exit(main())
