import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { SystemLogEntry } from '../../ports/system-logs.ts';
import { checkpointRefusal, MOST_CHECKPOINTS } from './checkpoint.ts';
import { createHealthApp } from './health-app.ts';
import { createKubeletApp, kubeletAppOptions } from './kubelet-app.ts';
import type { KubeletAppOptions, KubeletAppSources } from './kubelet-app.ts';
import { createReadOnlyApp } from './read-only-app.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [{ name: 'c', image: 'x' }] },
};
const on: KubeletAppOptions = {
  debuggingHandlers: true,
  profilingHandler: true,
  debugFlagsHandler: true,
  systemLogHandler: true,
  systemLogQuery: true,
  flagz: true,
  statusz: true,
  checkpoints: true,
  splitLogStreams: false,
};
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** A folder of logs as a map. Values are files, and `undefined` is an unreadable entry. */
function logs(files: Readonly<Record<string, string | undefined>>): KubeletAppSources['systemLogs'] {
  return {
    open: async (path): Promise<SystemLogEntry> => {
      if (path === '')
        return { kind: 'folder', entries: Object.keys(files).map((name) => ({ name, isFolder: false })) };
      if (!(path in files)) throw new KubeletError('NotFound', 'gone');
      const content = files[path];
      if (content === undefined) throw new KubeletError('Invalid', 'a link');
      const bytes = text(content);
      return {
        kind: 'file',
        file: {
          inode: 1,
          sizeBytes: async () => bytes.length,
          read: async (at, length) => bytes.subarray(at, at + length),
          close: async () => undefined,
        },
      };
    },
  };
}

function sources(extra: Partial<KubeletAppSources> = {}): KubeletAppSources {
  return {
    pods: () => [pod],
    runningPods: () => [],
    config: () => ({ kind: 'KubeletConfiguration' }),
    checks: { ping: () => undefined },
    containerLog: async ({ container }) => {
      if (container !== 'c') throw new KubeletError('NotFound', `container "${container}" not found in pod "p"`);
      return (async function* () {
        yield text('a line\n');
      })();
    },
    run: async (_target, command) => text(command.join('|')),
    explain: () => [],
    checkpointUse: async () => ({ count: 0, bytes: 0, availableBytes: 90, capacityBytes: 100 }),
    checkpoint: async (_target, file) => `/checkpoints/${file}`,
    nowMs: () => Date.UTC(2026, 0, 31, 12),
    systemLogs: logs({ syslog: 'words\n', 'a&b?.log': 'x', 'kube.log': 'from a file\n', secret: undefined }),
    processes: { run: async () => ({ exitCode: 0, stdout: 'containerd.service\n', stderr: '' }) },
    profiler: { cpu: async (ms) => `{"ms":${ms}}`, heap: () => Promise.reject(new KubeletError('Conflict', 'busy')) },
    setVerbosity: () => undefined,
    flags: () => ({ 'root-dir': '/var/lib/kubelet', 'node-ip': '' }),
    about: () => ({
      startedAtMs: Date.UTC(2026, 0, 31, 10, 58, 57),
      version: 'v1.36.0',
      engine: 'Node.js v26',
      commandLine: ['node', 'kubelet'],
    }),
    ...extra,
  };
}

const ask = async (
  path: string,
  init: RequestInit & { options?: Partial<KubeletAppOptions>; from?: Partial<KubeletAppSources> } = {},
): Promise<[number, string]> => {
  const answer = await createKubeletApp(sources(init.from), { ...on, ...init.options }).request(path, init);
  return [answer.status, await answer.text()];
};

describe('the secure server', () => {
  it('serves known paths, and 404 in upstream’s words for the rest', async () => {
    assert.deepEqual((JSON.parse((await ask('/pods'))[1]) as { items: unknown[] }).items, [pod]);
    assert.deepEqual(await ask('/explain'), [200, '[]']);
    assert.deepEqual(await ask('/runningpods/'), [
      200,
      '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}',
    ]);
    assert.deepEqual(await ask('/configz'), [200, '{"kubeletconfig":{"kind":"KubeletConfiguration"}}']);
    assert.deepEqual(
      [await ask('/spec'), await ask('/exec/ns')],
      [
        [404, '404 page not found\n'],
        [404, '404 page not found\n'],
      ],
    );
  });

  it('streams logs: 404 for an unknown container, 400 for one without a log, 422 for an invalid query', async () => {
    assert.deepEqual(await ask('/containerLogs/ns/p/c?tailLines=1'), [200, 'a line\n']);
    assert.deepEqual(await ask('/containerLogs/ns/p/x'), [404, 'container "x" not found in pod "p"']);
    const waiting = {
      containerLog: () =>
        Promise.reject(new KubeletError('Invalid', 'container "c" in pod "p" is waiting to start: ContainerCreating')),
    };
    assert.deepEqual(await ask('/containerLogs/ns/p/c', { from: waiting }), [
      400,
      'container "c" in pod "p" is waiting to start: ContainerCreating',
    ]);
    assert.deepEqual(
      [(await ask('/containerLogs/ns/p/c?tailLines=x'))[0], (await ask('/containerLogs/ns/p/c?tailLines=-1'))[0]],
      [400, 422],
    );
  });

  it('runs commands by POST only', async () => {
    assert.deepEqual(await ask('/run/ns/p/c?cmd=echo+a++b', { method: 'POST' }), [200, 'echo|a||b']);
    assert.deepEqual(await ask('/run/ns/p/u/c?cmd=x', { method: 'POST' }), [200, 'x']);
    assert.deepEqual(await ask('/run/ns/gone/c?cmd=x', { method: 'POST' }), [404, 'pod does not exist']);
    assert.deepEqual(
      await ask('/run/ns/p/c?cmd=x', {
        method: 'POST',
        from: { run: () => Promise.reject(new KubeletError('Internal', 'container not found ("c")')) },
      }),
      [500, 'container not found ("c")'],
    );
    assert.equal((await ask('/run/ns/p/c?cmd=x'))[0], 405);
  });

  it('answers other methods with 405 and the allowed ones, and streams without an upgrade with an error', async () => {
    const answer = await createKubeletApp(sources(), on).request('/configz', { method: 'DELETE' });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET']);
    assert.deepEqual(await ask('/exec/ns/p/c?command=ls', { method: 'POST' }), [500, 'Upgrade request required\n']);
    assert.equal((await ask('/portForward/ns/p', { method: 'PUT' }))[0], 405);
  });

  it('has no debugging endpoints when debugging handlers are off: 405 where upstream says so, 404 elsewhere', async () => {
    const off = { options: { debuggingHandlers: false } };
    for (const path of [
      '/run/a/b/c',
      '/exec/a/b/c',
      '/attach/a/b/c',
      '/portForward/a/b',
      '/containerLogs/a/b/c',
      '/runningpods/',
      '/debug/pprof/profile',
      '/logs/',
    ])
      assert.deepEqual(await ask(path, off), [405, 'Debug endpoints are disabled.\n'], path);
    for (const path of ['/configz', '/checkpoint/a/b/c', '/flagz', '/statusz', '/debug/flags/v'])
      assert.equal((await ask(path, off))[0], 404, path);
    assert.equal((await ask('/pods', off))[0], 200);
  });

  it('has a switch for each of the rest', async () => {
    assert.deepEqual(await ask('/debug/pprof/profile', { options: { profilingHandler: false } }), [
      405,
      'profiling endpoint is disabled.\n',
    ]);
    assert.deepEqual(await ask('/debug/flags/v', { method: 'PUT', body: '4', options: { debugFlagsHandler: false } }), [
      405,
      'flags endpoint is disabled.\n',
    ]);
    assert.deepEqual(await ask('/logs/syslog', { options: { systemLogHandler: false } }), [
      405,
      'logs endpoint is disabled.\n',
    ]);
    for (const [path, options] of [
      ['/flagz', { flagz: false }],
      ['/statusz', { statusz: false }],
    ] as const)
      assert.equal((await ask(path, { options }))[0], 404);
    assert.equal((await ask('/checkpoint/ns/p/c', { method: 'POST', options: { checkpoints: false } }))[0], 404);
  });
});

describe('checkpoints', () => {
  const checkpoint = (
    query = '',
    from: Partial<KubeletAppSources> = {},
    path = '/checkpoint/ns/p/c',
  ): Promise<[number, string]> => ask(`${path}${query}`, { method: 'POST', from });

  it('have upstream’s name, and its responses', async () => {
    assert.deepEqual(await checkpoint('?timeout=1&timeout=20'), [
      200,
      '{"items":["/checkpoints/checkpoint-p_ns-c-2026-01-31T12:00:00Z.tar"]}',
    ]);
    assert.deepEqual(await checkpoint('', {}, '/checkpoint/ns/x/c'), [404, 'pod does not exist']);
    assert.deepEqual(await checkpoint('', {}, '/checkpoint/ns/p/x'), [404, 'container x does not exist']);
    assert.deepEqual(await checkpoint('?timeout=x'), [404, 'cannot parse value of timeout parameter']);
    const unable = {
      checkpoint: () => Promise.reject(new KubeletError('Unimplemented', 'method CheckpointContainer not implemented')),
    };
    assert.deepEqual(await checkpoint('', unable), [
      500,
      'checkpointing of ns/p/c failed (method CheckpointContainer not implemented)',
    ]);
  });

  it('are limited in number and by free disk space (CVE-2025-0426)', async () => {
    const room = { count: 0, bytes: 0, availableBytes: 90, capacityBytes: 100 };
    assert.equal(checkpointRefusal(room), undefined);
    assert.equal((await checkpoint('', { checkpointUse: async () => ({ ...room, count: MOST_CHECKPOINTS }) }))[0], 429);
    assert.equal((await checkpoint('', { checkpointUse: async () => ({ ...room, availableBytes: 9 }) }))[0], 507);
  });

  it('are made one at a time', async () => {
    let finish: (file: string) => void = () => undefined;
    const app = createKubeletApp(sources({ checkpoint: () => new Promise((resolve) => (finish = resolve)) }), on);
    const first = app.request('/checkpoint/ns/p/c', { method: 'POST' });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await app.request('/checkpoint/ns/p/c', { method: 'POST' })).status, 429);
    finish('f');
    assert.equal((await first).status, 200);
  });
});

describe('node logs', () => {
  it('are served as by a file server', async () => {
    assert.deepEqual(await ask('/logs/syslog'), [200, 'words\n']);
    assert.match(
      (await ask('/logs/'))[1],
      /<pre>\n<a href="syslog">syslog<\/a>\n<a href="a&b%3F.log">a&amp;b\?\.log<\/a>\n/,
    );
    assert.deepEqual([(await ask('/logs/gone'))[0], (await ask('/logs/secret'))[0]], [404, 403]);
  });

  it('of services come from the journal or a file', async () => {
    assert.deepEqual(await ask('/logs/?query=containerd'), [200, 'containerd.service\n']);
    assert.deepEqual(await ask('/logs/?query=kube'), [200, 'from a file\n']);
    assert.deepEqual(await ask('/logs/?query=/syslog'), [404, '404 page not found\n']);
    assert.match((await ask('/logs/?query=kube&tailLines=3'))[1], /try without specifying options/);
    assert.match((await ask('/logs/?query=nothing'))[1], /log not found for nothing/);
    assert.equal((await ask('/logs/?tailLines=3'))[0], 406);
    assert.deepEqual(await ask('/logs/syslog?query=kube', { options: { systemLogQuery: false } }), [200, 'words\n']);
  });
});

describe('debugging endpoints', () => {
  it('changes the verbosity of the log by PUT', async () => {
    const levels: number[] = [];
    const put = (body: string): Promise<[number, string]> =>
      ask('/debug/flags/v', { method: 'PUT', body, from: { setVerbosity: (level) => levels.push(level) } });
    assert.deepEqual([await put('4'), levels], [[200, 'successfully set klog.logging.verbosity to 4\n'], [4]]);
    assert.deepEqual(await put('x'), [400, 'strconv.ParseUint: parsing "x": invalid syntax\n']);
    assert.deepEqual(await ask('/debug/flags/v'), [406, 'unsupported http method\n']);
    assert.equal((await put('9'.repeat(300)))[0], 413);
  });

  it('profiles for a while, one at a time', async () => {
    assert.deepEqual(await ask('/debug/pprof/profile?seconds=2'), [200, '{"ms":2000}']);
    assert.deepEqual(await ask('/debug/pprof/heap'), [500, 'Could not enable profiling: profiling already in use\n']);
    assert.equal((await ask('/debug/pprof/profile?seconds=100000'))[0], 400);
    assert.deepEqual(
      [await ask('/debug/pprof/cmdline'), await ask('/debug/pprof/goroutine')],
      [
        [200, 'node\0kubelet'],
        [404, 'Unknown profile\n'],
      ],
    );
  });

  it('shows flags and status as text, or as objects on request', async () => {
    const warning =
      'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
    assert.deepEqual(await ask('/flagz'), [200, `\nkubelet flagz\n${warning}\nnode-ip=\nroot-dir=/var/lib/kubelet\n`]);
    assert.match(
      (await ask('/statusz'))[1],
      /^\nkubelet statusz\n.*\n\nStarted: .*\nUp: 1 hr 01 min 03 sec\nGo version: .*\nBinary version: v1\.36\.0\nPaths: .*\/configz.*\/pods/,
    );
    const object = await ask('/flagz', { headers: { accept: 'application/json;v=v1alpha1;g=config.k8s.io;as=Flagz' } });
    assert.deepEqual(JSON.parse(object[1]), {
      kind: 'Flagz',
      apiVersion: 'config.k8s.io/v1alpha1',
      metadata: { name: 'kubelet' },
      flags: { 'root-dir': '/var/lib/kubelet', 'node-ip': '' },
    });
    assert.equal((await ask('/statusz', { headers: { accept: 'application/yaml' } }))[0], 406);
  });
});

describe('ports without authentication', () => {
  const known = [
    '/run/a/b/c',
    '/exec/a/b/c',
    '/attach/a/b/c',
    '/portForward/a/b',
    '/containerLogs/a/b/c',
    '/configz',
    '/runningpods/',
    '/checkpoint/ns/p/c',
    '/logs/',
    '/logs/syslog',
    '/debug/pprof/',
    '/debug/pprof/profile',
    '/debug/pprof/heap',
    '/debug/pprof/cmdline',
    '/debug/flags/v',
    '/flagz',
    '/statusz',
    '/explain',
    '/api/watch',
  ];

  it('show health and nothing else on 10248 (CVE-2019-11248)', async () => {
    const app = createHealthApp({ ping: () => undefined });
    for (const path of [...known, '/pods', '/metrics', '/stats/summary'])
      for (const method of ['GET', 'POST', 'PUT'])
        assert.equal((await app.request(path, { method })).status, 404, `${method} ${path}`);
    assert.equal((await app.request('/healthz')).status, 200);
  });

  it('show neither streams nor debugging endpoints on 10255', async () => {
    const app = createReadOnlyApp(sources());
    for (const path of known)
      for (const method of ['GET', 'POST', 'PUT'])
        assert.ok([404, 405].includes((await app.request(path, { method })).status), `${method} ${path}`);
    assert.equal((await app.request('/pods', { method: 'DELETE' })).status, 405);
  });
});

describe('attacks on checkpoints and on log queries', () => {
  it('no name in the path escapes the folder of checkpoints or selects another container', async () => {
    const files: string[] = [];
    const from: Partial<KubeletAppSources> = { checkpoint: async (_target, file) => (files.push(file), file) };
    const paths = [
      '/checkpoint/ns/p/..%2F..%2Fetc',
      '/checkpoint/ns/..%2Fp/c',
      '/checkpoint/..%2Fns/p/c',
      '/checkpoint/ns/p/c%00',
      '/checkpoint/ns/p/c%0A',
      '/checkpoint/ns/p/__proto__',
      '/checkpoint/ns/constructor/c',
      '/checkpoint/ns/p/',
      '/checkpoint/ns/p/c/d',
      '/checkpoint/ns/P/c',
      '/checkpoint/ns/p/c%20',
    ];
    for (const path of paths) assert.equal((await ask(path, { method: 'POST', from }))[0], 404, path);
    assert.equal((await ask('/checkpoint/ns/p/c'))[0], 405, 'by GET');
    assert.deepEqual(files, []);
    await ask('/checkpoint/ns/p/c', { method: 'POST', from });
    assert.deepEqual(
      files.filter((file) => !/^checkpoint-[a-z0-9_.:TZ-]+\.tar$/i.test(file)),
      [],
    );
  });

  it('an invalid timeout is rejected, and a failure frees its slot', async () => {
    const seconds: number[] = [];
    const from: Partial<KubeletAppSources> = {
      checkpoint: (_target, _file, timeout) => (
        seconds.push(timeout), Promise.reject(new KubeletError('Timeout', 'no answer'))
      ),
    };
    const app = createKubeletApp(sources(from), on);
    for (const timeout of ['1e9', 'Infinity', 'NaN', '0x10', '1.5', '9'.repeat(19), '--1', '1;2'])
      assert.equal(
        (await app.request(`/checkpoint/ns/p/c?timeout=${timeout}`, { method: 'POST' })).status,
        404,
        timeout,
      );
    for (const timeout of ['-5', '9'.repeat(18), '7'])
      assert.equal(
        (await app.request(`/checkpoint/ns/p/c?timeout=${timeout}`, { method: 'POST' })).status,
        500,
        timeout,
      );
    assert.deepEqual(seconds, [0, Number('9'.repeat(18)), 7]);
  });

  it('no query becomes an option, a glob or another program; each value is one argument', async () => {
    const runs: (readonly [string, readonly string[]])[] = [];
    const processes = {
      run: async (program: string, args: readonly string[]) => (
        runs.push([program, args]), { exitCode: 0, stdout: 'kubelet.service\n--help.service\n*.service\n', stderr: '' }
      ),
    };
    const questions = [
      'query=--help',
      'query=kubelet&pattern=--output%3Djson',
      'query=kubelet&pattern=a%0A--vacuum-size%3D1',
      'query=kubelet&boot=-99',
      'query=kubelet&tailLines=5&sinceTime=2026-01-01T00:00:00Z',
      'query=*',
      'query=kubelet%20--file',
      'query=kubelet%3Brm',
      'query=kubelet&pattern=%00',
      'query=kubelet%00',
      'query=kubelet&sinceTime=--help',
      'query=kubelet&boot=--help',
      'query=kubelet&tailLines=%2B1%20-D',
    ];
    for (const question of questions) await ask(`/logs/?${question}`, { from: { processes } });
    const known =
      /^--(field|utc|no-pager|pager-end|since=@\d+|until=@\d+|lines=\d+|unit=[\w.:@-]+|grep=[^]*|case-sensitive=false|boot=-?\d+|output=short-precise)$/;
    assert.deepEqual(
      runs.filter(
        ([program, args]) =>
          program !== 'journalctl' || args.some((word) => !known.test(word) && word !== '_SYSTEMD_UNIT'),
      ),
      [],
    );
    assert.ok(runs.some(([, args]) => args.includes('--unit=--help')));
    assert.ok(!runs.some(([, args]) => args.some((word) => word.includes('\0') || word === '--unit=*')));
  });

  it('a limited number of queries run at once, and a failed one frees its slot', async () => {
    const ends: ((how: 'well' | 'badly') => void)[] = [];
    const processes = {
      run: () =>
        new Promise<{ exitCode: number; stdout: string; stderr: string }>((resolve, reject) =>
          ends.push((how) =>
            how === 'well'
              ? resolve({ exitCode: 0, stdout: '', stderr: '' })
              : reject(new KubeletError('Timeout', 'late')),
          ),
        ),
    };
    const app = createKubeletApp(sources({ processes }), on);
    const first = [app.request('/logs/?query=a'), app.request('/logs/?query=b')];
    while (ends.length < 2) await new Promise((resolve) => setImmediate(resolve));
    for (let more = 0; more < 20; more += 1) {
      const refused = await app.request('/logs/?query=c');
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
    }
    assert.equal(ends.length, 2);
    assert.equal((await app.request('/logs/syslog')).status, 200, 'files are not queries');
    ends[0]?.('badly');
    ends[1]?.('well');
    assert.deepEqual(
      (await Promise.all(first)).map(({ status }) => status),
      [200, 200],
    );
    const next = app.request('/logs/?query=c');
    while (ends.length < 3) await new Promise((resolve) => setImmediate(resolve));
    ends[2]?.('well');
    assert.equal((await next).status, 200);
  });
});

describe('the switches of the secure server', () => {
  const server = { debuggingHandlers: true, systemLogHandler: true, systemLogQuery: true } as KubeletConfig['server'];
  const options = (gates: readonly string[], changes: Partial<KubeletConfig['server']> = {}): KubeletAppOptions =>
    kubeletAppOptions({
      server: { ...server, ...changes },
      gates: { enabled: (name) => gates.includes(name) },
    });

  it('need the feature gate of what is behind one', () => {
    const none = options([]);
    assert.deepEqual(
      [none.flagz, none.statusz, none.checkpoints, none.splitLogStreams, none.systemLogQuery],
      [false, false, false, false, false],
    );
    assert.equal(options(['ComponentFlagz']).flagz, true);
    assert.equal(options(['ComponentStatusz']).statusz, true);
    assert.equal(options(['ContainerCheckpoint']).checkpoints, true);
    assert.equal(options(['PodLogsQuerySplitStreams']).splitLogStreams, true);
  });

  it('allow log queries only if the configuration enables them, too', () => {
    assert.equal(options(['NodeLogQuery']).systemLogQuery, true);
    assert.equal(options(['NodeLogQuery'], { systemLogQuery: false }).systemLogQuery, false);
  });
});
