import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import { parseCommandStreams, parseStreamPath, parsePorts, planStream } from './stream-requests.ts';
import type { StreamPlan, StreamSources } from './stream-requests.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: {
    containers: [
      { name: 'c', image: 'x' },
      { name: 'tty', image: 'x', tty: true },
    ],
  },
};

function sources(asked: unknown[] = [], failure?: Error): StreamSources {
  const url = async (...words: unknown[]): Promise<string> => {
    asked.push(words);
    if (failure !== undefined) throw failure;
    return 'http://127.0.0.1:1/x';
  };
  return {
    pod: (namespace, name) => (namespace === 'ns' && name === 'p' ? pod : undefined),
    isUidOf: (_pod, uid) => uid === 'u' || uid === 'mirror',
    execUrl: (_pod, container, request) => url('exec', container, request),
    attachUrl: (_pod, container, streams) => url('attach', container, streams),
    planAttach: () => ({ what: 'nothing' }),
    portForwardUrl: (_pod, ports) => url('ports', ports),
  };
}

const plan = (
  path: string,
  query: string,
  given: Partial<{
    method: string;
    isWebSocket: boolean;
    isTunnel: boolean;
    isServable: boolean;
    from: StreamSources;
  }> = {},
): Promise<StreamPlan> => {
  const target = parseStreamPath(path);
  assert.ok(target !== undefined, path);
  return planStream(
    target,
    {
      method: 'POST',
      isWebSocket: false,
      isTunnel: false,
      isServable: true,
      userAgent: '',
      query: new URLSearchParams(query),
      ...given,
    },
    given.from ?? sources(),
  );
};

describe('a streaming path', () => {
  it('is named with and without the uid of the pod', () => {
    assert.deepEqual(parseStreamPath('/exec/ns/p/c'), {
      kind: 'exec',
      namespace: 'ns',
      pod: 'p',
      uid: '',
      container: 'c',
    });
    assert.deepEqual(parseStreamPath('/attach/ns/p/u/c'), {
      kind: 'attach',
      namespace: 'ns',
      pod: 'p',
      uid: 'u',
      container: 'c',
    });
    assert.deepEqual(parseStreamPath('/portForward/ns/p'), {
      kind: 'portForward',
      namespace: 'ns',
      pod: 'p',
      uid: '',
      container: '',
    });
    assert.deepEqual(parseStreamPath('/portForward/ns/p/u'), {
      kind: 'portForward',
      namespace: 'ns',
      pod: 'p',
      uid: 'u',
      container: '',
    });
    for (const path of [
      '/exec/ns/p',
      '/exec/ns/p/u/c/x',
      '/portForward/ns/p/u/x',
      '/exec//p/c',
      '/exec/ns/p/',
      '/portforward/ns/p',
      '/run/ns/p/c',
      '/',
    ])
      assert.equal(parseStreamPath(path), undefined, path);
  });

  it('has the requested streams, by the kubelet’s names or the API’s, and no stderr on a terminal', () => {
    const streams = (query: string): unknown => parseCommandStreams(new URLSearchParams(query));
    assert.deepEqual(streams('input=1&output=1&error=1'), { stdin: true, stdout: true, stderr: true, tty: false });
    assert.deepEqual(streams('stdin=true&stdout=true&stderr=true&tty=true'), {
      stdin: true,
      stdout: true,
      stderr: false,
      tty: true,
    });
    for (const nothing of ['', 'tty=1', 'error=1&tty=1', 'input=0'])
      assert.deepEqual(streams(nothing), { problem: 'you must specify at least 1 of stdin, stdout, stderr' });
  });

  it('reads ports of a WebSocket from the query, and reports invalid ones', () => {
    const ports = (query: string): unknown => parsePorts(new URLSearchParams(query));
    assert.deepEqual(ports('port=80,443&port=8080'), [80, 443, 8080]);
    assert.deepEqual(ports(''), { problem: 'query parameter "port" is required' });
    assert.deepEqual(ports('port='), { problem: 'query parameter "port" cannot be empty' });
    assert.deepEqual(ports('port=0'), { problem: 'port "0" must be > 0' });
    assert.match(JSON.stringify(ports('port=x')), /unable to parse .*x.* as a port/);
    assert.match(JSON.stringify(ports('port=65536')), /value out of range/);
  });
});

describe('the plan of a stream', () => {
  it('is the runtime’s URL for the unchanged arguments of the command', async () => {
    const asked: unknown[] = [];
    assert.deepEqual(
      await plan('/exec/ns/p/c', 'command=sh&command=-c&command=a+b&output=1', { from: sources(asked) }),
      {
        outcome: 'stream',
        url: 'http://127.0.0.1:1/x',
        streams: { stdin: false, stdout: true, stderr: false, tty: false },
      },
    );
    assert.deepEqual(asked, [
      ['exec', 'c', { stdin: false, stdout: true, stderr: false, tty: false, command: ['sh', '-c', 'a b'] }],
    ]);
  });

  it('takes the terminal of a running container from its spec, not from the query', async () => {
    const asked: unknown[] = [];
    await plan('/attach/ns/p/u/tty', 'output=1&error=1', { from: sources(asked) });
    await plan('/attach/ns/p/c', 'output=1&tty=1', { from: sources(asked) });
    assert.deepEqual(asked, [
      ['attach', 'tty', { stdin: false, stdout: true, stderr: false, tty: true }],
      ['attach', 'c', { stdin: false, stdout: true, stderr: false, tty: false }],
    ]);
  });

  it('is the log of a container with earlier output, for a supported client that requests output', async () => {
    const asked: unknown[] = [];
    const past = { what: 'log', container: { name: 'c' }, from: undefined } as never;
    const from: StreamSources = {
      ...sources(asked),
      planAttach: (_pod, container, client) => (asked.push([container, client]), past),
    };
    const bare = { stdin: true, stdout: true, stderr: true, tty: false };
    const answer = await plan('/attach/ns/p/c', 'input=1&output=1&error=1', { from });
    assert.deepEqual(answer, { outcome: 'attach', pod, plan: past, streams: { client: bare, runtime: bare } });
    assert.deepEqual(asked, [['c', { isInteractive: false, userAgent: '' }]]);
    assert.equal((await plan('/attach/ns/p/c', 'input=1', { from })).outcome, 'stream');
    assert.equal((await plan('/attach/ns/p/c', 'output=1', { from, isServable: false })).outcome, 'stream');
    // A client without a terminal opens the streams it requested, although the container has a terminal.
    const mixed = await plan('/attach/ns/p/tty', 'input=1&output=1&error=1', { from });
    assert.deepEqual(mixed.outcome === 'attach' ? mixed.streams : mixed, {
      client: bare,
      runtime: { stdin: true, stdout: true, stderr: false, tty: true },
    });
  });

  it('requires ports only of a WebSocket without a tunnel', async () => {
    const asked: unknown[] = [];
    const from = sources(asked);
    for (const given of [{ isWebSocket: false }, { isWebSocket: true, isTunnel: true }])
      assert.equal((await plan('/portForward/ns/p/mirror', '', { ...given, from })).outcome, 'stream');
    assert.deepEqual(await plan('/portForward/ns/p', '', { isWebSocket: true }), {
      outcome: 'refused',
      status: 400,
      body: 'query parameter "port" is required',
    });
    await plan('/portForward/ns/p', 'port=80', { isWebSocket: true, from });
    assert.deepEqual(asked, [
      ['ports', []],
      ['ports', []],
      ['ports', [80]],
    ]);
  });

  it('is an error with upstream’s messages and status codes, in upstream’s order', async () => {
    const rows: readonly [path: string, query: string, status: number, body: string][] = [
      ['/exec/ns/gone/c', '', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
      ['/exec/ns/gone/c', 'output=1', 404, 'pod does not exist'],
      ['/attach/ns/gone/c', 'output=1', 404, 'pod does not exist'],
      ['/portForward/ns/gone', '', 404, 'pod does not exist'],
      ['/portForward/ns/p/other', '', 404, 'pod not found'],
      ['/exec/ns/p/other/c', 'output=1', 500, 'container not found ("c")'],
      ['/attach/ns/p/none', 'output=1', 500, 'container none not found in pod p_ns'],
    ];
    for (const [path, query, status, body] of rows)
      assert.deepEqual(await plan(path, query), { outcome: 'refused', status, body }, path);
    assert.equal(((await plan('/exec/ns/p/c', 'output=1', { method: 'PUT' })) as { status: number }).status, 405);
    const failing = (kind: 'NotFound' | 'Unavailable'): Promise<StreamPlan> =>
      plan('/exec/ns/p/c', 'output=1', { from: sources([], new KubeletError(kind, 'why')) });
    assert.deepEqual(
      [await failing('NotFound'), await failing('Unavailable')],
      [
        { outcome: 'refused', status: 404, body: 'why' },
        { outcome: 'refused', status: 500, body: 'why' },
      ],
    );
  });
});
