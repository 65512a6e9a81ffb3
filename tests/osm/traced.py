# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a program under strace writes, makes, renames, removes, starts and binds."""
import os
import re
import shutil
import subprocess

from osmtest import Failure, Skip

# Calls that leave something behind, or talk to somebody. connect() is ibsim's.
CALLS = ('open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,'
         'symlink,symlinkat,mknod,mknodat,chmod,fchmodat,chown,lchown,fchownat,truncate,bind,socket,execve,'
         'setxattr,lsetxattr,exit_group')
# As a grandchild (-D), so that signals are opensm's.
STRACE = ['strace', '-D', '-f', '-qq', '-y', '-s', '4096', '-e', 'signal=none', '-e', 'trace=' + CALLS]

# A call that succeeded or not: an attempt counts as well.
CALL = re.compile(r'^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+|\?)')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
WRITES = re.compile(r'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE')


def need_strace():
    if not shutil.which('strace'):
        raise Skip('strace is not installed')
    done = subprocess.run(['strace', '-e', 'trace=none', 'true'], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip('strace may not trace here: ' + done.stderr.strip()[-200:])


def last_line(path):
    with open(path, errors='replace') as file:
        return file.read().rstrip().rpartition('\n')[2]


def whole_lines(text):
    """Calls of one thread that another one interrupted, put together again."""
    begun = {}
    for line in text.splitlines():
        pid, _, rest = line.partition(' ')
        m = re.match(r'\s*<\.\.\. \w+ resumed>(.*)', rest)
        if m and pid in begun:
            yield pid + ' ' + begun.pop(pid) + m.group(1)
        elif rest.endswith('<unfinished ...>'):
            begun[pid] = rest.strip()[:-len('<unfinished ...>')].rstrip()
        else:
            yield line
    for pid, rest in begun.items():
        yield '%s %s) = ?' % (pid, rest)


def changes(text, cwd):
    """(call, path) of all that is written, made, renamed or removed; paths are absolute."""
    for line in whole_lines(text):
        m = CALL.match(line)
        if not m:
            continue
        call, words = m.group(1), m.group(2)
        if call in ('open', 'openat', 'openat2') and not WRITES.search(words):
            continue
        if call in ('socket', 'execve'):
            yield call, words
            continue
        paths = STRING.findall(words)
        if call == 'bind':
            paths = re.findall(r'sun_path=(@?"[^"]*")', words) or ['?' + words]
            paths = [p if p[0] in '@?' else p[1:-1] for p in paths]
        at = re.match(r'\d+<([^>]*)>', words)	# a directory that is open already
        for path in paths:
            base = at.group(1) if at else cwd
            yield call, path if path[0] in '@?' else os.path.normpath(os.path.join(base, path))


def judge_changes(found, places):
    """Nothing outside these places, no program started, no socket but Unix's."""
    bad = []
    started = 0
    for call, what in found:
        if call == 'execve':
            started += 1
        elif call == 'socket':
            if not re.match(r'AF_(UNIX|NETLINK)', what):
                bad.append('socket(%s)' % what)
        elif call != 'exit_group' and not any(re.match(p, what) for p in places):
            bad.append('%s %s' % (call, what))
    if started > 1:
        bad.append('%d programs were started' % started)
    if bad:
        raise Failure('%d calls, first: %s' % (len(bad), bad[0]))
