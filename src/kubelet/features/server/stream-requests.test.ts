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
    portForwardUrl: (_pod, ports) => url('ports', ports),
  };
}

const plan = (
  path: string,
  query: string,
  given: Partial<{ method: string; isWebSocket: boolean; isTunnel: boolean; from: StreamSources }> = {},
): Promise<StreamPlan> => {
  const target = parseStreamPath(path);
  assert.ok(target !== undefined, path);
  return planStream(
    target,
    { method: 'POST', isWebSocket: false, isTunnel: false, query: new URLSearchParams(query), ...given },
    given.from ?? sources(),
  );
};

describe('a way into a container', () => {
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

  it('has the streams asked for, by the kubelet’s names or the API’s, and no second output on a terminal', () => {
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

  it('reads ports of a WebSocket from the query, and says what is wrong with them', () => {
    const ports = (query: string): unknown => parsePorts(new URLSearchParams(query));
    assert.deepEqual(ports('port=80,443&port=8080'), [80, 443, 8080]);
    assert.deepEqual(ports(''), { problem: 'query parameter "port" is required' });
    assert.deepEqual(ports('port='), { problem: 'query parameter "port" cannot be empty' });
    assert.deepEqual(ports('port=0'), { problem: 'port "0" must be > 0' });
    assert.match(JSON.stringify(ports('port=x')), /unable to parse .*x.* as a port/);
    assert.match(JSON.stringify(ports('port=65536')), /value out of range/);
  });
});

describe('what a stream comes to', () => {
  it('is the runtime’s URL for the words of the command as they came', async () => {
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

  it('asks for ports only of a WebSocket without a tunnel', async () => {
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

  it('is a refusal in upstream’s words and numbers, in upstream’s order', async () => {
    const rows: readonly [path: string, query: string, status: number, body: string][] = [
      ['/exec/ns/gone/c', '', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
      ['/exec/ns/gone/c', 'output=1', 404, 'pod does not exist'],
      ['/attach/ns/gone/c', 'output=1', 404, 'pod does not exist'],
      ['/portForward/ns/gone', '', 404, 'pod does not exist'],
      ['/portForward/ns/p/other', '', 404, 'pod not found'],
      ['/exec/ns/p/other/c', 'output=1', 500, 'container not found ("c")'],
      ['/attach/ns/p/nobody', 'output=1', 500, 'container nobody not found in pod p_ns'],
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
