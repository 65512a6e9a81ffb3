# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""opensm is killed and started again: the tables that were stored are where it goes on, after they
have been checked; whatever else lies there is one sentence in the log and a full route."""
import glob
import os
import re
import shutil
import stat

from judge import QOS, Claims, expect, generate, judge, scenario
from osmtest import Fabric, Opensm, find_fabric, held, wait_for


def stores(cache):
    return glob.glob(os.path.join(cache, 'osmroutes-*.store'))


def start(fabric, cache, name, engine='dfsssp', conf='', options=QOS):
    return Opensm(fabric, engine, plugin=True, options=options, plugin_conf=conf, name=name,
                  env={'OSM_CACHE_DIR': cache})


def kill(opensm):
    opensm.process.kill()
    opensm.process.wait()


def broken_fabric(fabric, cache, faults, engine='dfsssp', conf=''):
    """Parts, or cables by their numbers, die under a running opensm, which is killed when it has stored what it made of that.
    Returns these parts, and the tables before and after, with .rows."""
    with start(fabric, cache, 'before', engine, conf=conf) as opensm:
        opensm.wait_up()
        whole = judge(fabric, opensm, ours=engine.split(',')[0])
        faults = [whole.cables()[part][:2] if isinstance(part, int) else part for part in faults]
        opensm.change(*[fabric.unlink(*part) for part in faults])
        before = judge(fabric, opensm, ours=engine.split(',')[0])
        expect(any(s['tables']['re_route'] == 'incremental' for s in opensm.routed()) or ',' in engine, 'the fault was not repaired')
        expect(before.bytes_of_tables() != whole.bytes_of_tables(), 'no table changed')
        wait_for('the store to be written', lambda: settled(cache), 20)
        kill(opensm)
    return faults, whole, before


def settled(cache):
    """One file, older than a moment: what the writer had to do is done."""
    return len(stores(cache)) == 1 and not glob.glob(os.path.join(cache, '.osmroutes-*')) and \
        os.stat(stores(cache)[0]).st_size > 0


def cache_of(workdir, name='cache'):
    cache = os.path.join(workdir, name)
    shutil.rmtree(cache, ignore_errors=True)
    os.makedirs(cache)
    return cache


BY_SL = '[dfsssp]\nany_sl = off\n'
# Fabric, engines, configuration, what dies before the end of opensm, and after the next start. What dmodk and angara have
# recognised on the whole fabric outlives a restart.
LIVES = (('random-12', 'dfsssp', '', (2, 9), ()), ('dragonfly-12', 'dfsssp', BY_SL, (3, 11), ()),
         (('mesh', 'dims=4x4'), 'angara,dfsssp', '', [('s-0-1', 2)], [('s-1-0', 4)]),
         (('tree', 'm=2,6', 'w=1,3'), 'dmodk,dfsssp', '', [('spine-0',)], [('leaf-1', 4)]))


@scenario('restart.killed')
def killed(workdir):
    """kill -9 after a repair: nothing changes with the next start, neither entries nor SLs, nor who routes after one more
    fault; when the parts return so do the first tables. Without the store the tables are others."""
    for n, (net, engine, conf, faults, more) in enumerate(LIVES):
        here, cache = os.path.join(workdir, str(n)), cache_of(workdir)
        net = find_fabric(net) if isinstance(net, str) else generate(os.path.join(here, 'fabric.net'), *net)
        with Fabric(net, here) as fabric:
            faults, whole, before = broken_fabric(fabric, cache, faults, engine, conf)
            path, = stores(cache)
            expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, 'others may read ' + path)
            ours = engine.split(',')[0]
            with start(fabric, cache, 'after', engine, conf) as opensm:
                opensm.wait_up()
                after = judge(fabric, opensm, ours=ours)
                expect('tables of the last run read from ' + path in opensm.log, 'the store was not read')
                claims = Claims(opensm.log, 0)
                expect(claims.changed == 0, '%s: %d of %d entries changed' % (net, claims.changed, claims.entries))
                expect(after.bytes_of_tables() == before.bytes_of_tables(), 'the tables differ')
                expect(after.rows == before.rows, 'SLs differ')
                if more:
                    opensm.change(*[fabric.unlink(*part) for part in more])
                    judge(fabric, opensm, ours=ours)
                opensm.change(*[fabric.relink(*part) for part in [*faults, *more]])
                back = judge(fabric, opensm, ours=ours)
                expect(back.bytes_of_tables(False) == whole.bytes_of_tables(False) and
                       back.rows == whole.rows, 'the first tables have not come back')
            opensm.check_own_log()
            fabric.console(*[fabric.unlink(*part) for part in faults])
            with start(fabric, cache, 'without', engine, 'store = no\n' + conf) as opensm:
                opensm.wait_up()
                anew = judge(fabric, opensm, ours=Claims(opensm.log).engine)
                expect((anew.bytes_of_tables(), anew.rows) != (before.bytes_of_tables(), before.rows),
                       'a full route gives the same: this says nothing about the store')
                expect('last run' not in opensm.log, 'store = no, and it was read')


def corrupt(path):
    with open(path, 'r+b') as file:
        file.seek(os.path.getsize(path) * 2 // 3)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x10]))


def directory(path):
    os.unlink(path)
    os.mkdir(path)


def nothing(path):
    os.truncate(path, 0)
    os.truncate(path, 4 << 30)


# What becomes of a good store, and what the log says of it. Some are larger than their beginning says, or others may write them.
FORGED = {'good': (lambda path: None, None), 'corrupted': (corrupt, ''), 'options': (lambda path: None, ''),
          'giant': (lambda path: os.truncate(path, 4 << 30), 'damaged'), 'sparse': (nothing, 'damaged'),
          'world': (lambda path: os.chmod(path, 0o666), 'only the user'), 'group': (lambda path: os.chmod(path, 0o620), 'only the user'),
          'directory': (directory, '')}


@scenario('restart.bad-store')
def bad_store(workdir):
    """A store that is damaged, forged, of others, of other options or of another fabric: one sentence, not much memory, and the
    tables of a full route. Each kind of damage by itself: unit.store, fuzz.store."""
    cache = cache_of(workdir)

    def tables_of(name, conf=''):
        """With the most memory that opensm had, in MB."""
        with start(fabric, cache, name, conf=conf) as opensm:
            opensm.wait_up()
            tables = judge(fabric, opensm, ours='dfsssp')
            with open('/proc/%d/status' % opensm.process.pid) as file:
                peak = int(re.search(r'VmHWM:\s+(\d+)', file.read())[1]) >> 10
        return opensm, tables.bytes_of_tables(), tables.rows, peak

    with Fabric(find_fabric('random-12'), workdir) as fabric:
        _, _, before = broken_fabric(fabric, cache, (2, 9))
        good = os.path.join(workdir, 'good.store')
        path, = stores(cache)
        shutil.copy2(path, good)
        _, *anew, least = tables_of('anew', 'store = no\n')
        for kind, (forge, word) in FORGED.items():
            shutil.copy2(good, path)
            forge(path)
            opensm, *tables, peak = tables_of(kind, '[dfsssp]\nrebalance = 140\n' if kind == 'options' else '')
            said = [l for l in opensm.errors() if 'OR13' in l]
            expect(len(said) == (word is not None) and all(path in l and word in l for l in said), '%s: the log says %s' % (kind, said))
            expect(kind == 'options' or tables == ([before.bytes_of_tables(), before.rows] if word is None else anew),
                   '%s: the tables are others' % kind)
            expect(peak < least + 64, '%s: %d MB, without it %d' % (kind, peak, least))
        expect(any('OR14' in l for l in opensm.errors()), 'nothing said about writing')
        os.rmdir(path)
    another_fabric(workdir, good)


def another_fabric(workdir, store):
    """ibsim numbers GUIDs from the same one on, so the tables of another fabric may nearly fit."""
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        tables = []
        for name in 'own', 'other':
            cache = cache_of(workdir)
            if name == 'other':	# in the place of this SM's
                guid = int(fabric.run(['ibstat', '-p']).split()[0], 16)
                shutil.copy2(store, os.path.join(cache, 'osmroutes-%016x-dfsssp.store' % guid))
            with start(fabric, cache, name) as opensm:
                opensm.wait_up()
                tables.append(judge(fabric, opensm, ours='dfsssp'))
            opensm.check_own_log()
        expect('tables of the last run read' in opensm.log, 'the store was not read')
        expect('of another fabric' in opensm.log or opensm.routed()[0]['tables']['re_route'] == 'full',
               'the log does not say that the store is foreign')
        expect(tables[0].bytes_of_tables() == tables[1].bytes_of_tables(), 'a foreign store changed the tables')


@scenario('restart.no-directory')
def no_directory(workdir):
    """A cache directory that goes: one error line, not one at every sweep, and everything else
    works; once it is there again the next change is stored."""
    cache = cache_of(workdir)
    with Fabric(find_fabric('random-12'), workdir) as fabric:
        with start(fabric, cache, 'opensm') as opensm:
            opensm.wait_up()
            whole = judge(fabric, opensm, ours='dfsssp')
            wait_for('a store', lambda: settled(cache), 10)
            shutil.rmtree(cache)
            for i in (2, 9):
                opensm.change(fabric.unlink(*whole.cables()[i][:2]))
                wait_for('the complaint', lambda: 'OR14' in opensm.log, 10)
            expect(len([l for l in opensm.errors() if 'OR14' in l]) == 1, 'not one line')
            os.makedirs(cache)
            opensm.change(fabric.relink(*whole.cables()[2][:2]))
            wait_for('a store', lambda: settled(cache), 10)
            judge(fabric, opensm, ours='dfsssp')


def handover_sm(fabric, host, name, engine='dfsssp', conf='[dfsssp]\nany_sl = on\n', wrapper=(), env=None):
    """Ours, or a stock one."""
    return Opensm(fabric, engine, plugin=engine != 'minhop', name=name, plugin_conf=conf,
                  options=dict(QOS, max_op_vls=2, sm_priority=3, sminfo_polling_timeout=100,
                               polling_retry_number=2),
                  wrapper=wrapper, env=dict(env or {}, SIM_HOST=fabric.node_id(host)))


@scenario('restart.standby')
def standby(workdir):
    """The master dies after a repair. The standby starts from what it stored itself when it was master before, and
    does not claim that the switches hold that; its tables are sent, and judged."""
    net = generate(os.path.join(workdir, 'sparse.net'), 'random', 'switches=16', 'links=36', 'seed=2')
    with Fabric(net, os.path.join(workdir, 'fabric')) as fabric:
        hosts = [name for name, (_, kind) in fabric.ids.items() if kind == 'ca']
        cache = {'OSM_CACHE_DIR': cache_of(workdir)}
        with handover_sm(fabric, hosts[-1], 'earlier', env=cache) as earlier:
            earlier.wait_up()
            wait_for('the store to be written', lambda: settled(cache['OSM_CACHE_DIR']), 20)
            kill(earlier)
        with handover_sm(fabric, hosts[0], 'first') as first:
            first.wait_up()
            whole = judge(fabric, first, ours='dfsssp')
            for cable in 5, 9:
                first.change(fabric.unlink(*whole.cables()[cable][:2]))
            before = fabric.tables()
            expect(before.bytes_of_tables() != whole.bytes_of_tables(), 'the fault changed nothing')
            with handover_sm(fabric, hosts[-1], 'second', env=cache) as second:
                wait_for('standby', lambda: 'STANDBY' in second.log, 60, second._alive)
                with held(second):
                    kill(first)
                    fabric.forget(first.process.pid)
                second.wait_up()
                second.wait_quiet()
                judge(fabric, second, ours='dfsssp')
                said = second.routed()[0]['tables']
                expect('tables of the last run read from' in second.log, 'no stored tables')
                expect(said['transition']['answer'] == 'not checked' and
                       'another engine or subnet manager' in said['transition']['why'], str(said))
                kill(second)
                fabric.forget(second.process.pid)
            second.check_own_log()
