// Commands, ports, logs and copies with the real kubectl, through the embedded API server and the agent, in containers
// of the real containerd.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { machineEnvironment } from '../../src/up/commands.ts';
import { kubectlHome } from '../e2e/support/cluster.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { ClusterFixture } from './support/cluster-agent.ts';
import { startClusterAgent } from './support/cluster-agent.ts';
import { testsOnDocker } from './support/containerd.ts';
import { container, pod, shell, thenSleep } from './support/manifests.ts';

let fixture: ClusterFixture & { stop(): Promise<void> };
const folder = mkdtempSync(join(tmpdir(), 'kts-streams-'));
after(async () => {
  await fixture?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Versions with SPDY only, with WebSockets, and the newest one, if the machine has them. */
const kubectls = [
  '/usr/lib/google-cloud-sdk/bin/kubectl.1.27',
  '/usr/lib/google-cloud-sdk/bin/kubectl.1.33',
  'kubectl',
].filter((each) => !each.startsWith('/') || existsSync(each));

const webSocketKubectl = kubectls.find((each) => each.endsWith('1.33')) ?? 'kubectl';

function start(program: string, words: readonly string[]): ChildProcess {
  const { cluster } = fixture;
  return spawn(
    program,
    [`--server=https://127.0.0.1:${cluster.port}`, `--kubeconfig=${cluster.kubeconfig}`, ...words],
    { stdio: 'pipe', timeout: 60_000, env: { ...machineEnvironment(), HOME: kubectlHome } },
  );
}

async function run(program: string, words: readonly string[], input: string | Buffer = ''): Promise<Result> {
  return finish(start(program, words), input);
}

async function finish(child: ChildProcess, input: string | Buffer = ''): Promise<Result> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

async function create(manifest: unknown, name: string): Promise<void> {
  await fixture.cluster.kubectl(['create', '-f', '-'], JSON.stringify(manifest));
  await fixture.cluster.kubectl(['wait', `pod/${name}`, '--for=condition=Ready', '--timeout=60s']);
}

/** Sends a request to the kubelet directly, without the API server's authentication. */
async function ask(method: string, path: string, headers: Record<string, string>): Promise<[number, string]> {
  const request = httpsRequest({
    host: '127.0.0.1',
    port: kubeletPort,
    method,
    path,
    headers,
    rejectUnauthorized: false,
    agent: false,
  });
  request.end();
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response);
    });
  });
  const response = await answered;
  let body = '';
  if (response.statusCode !== 101)
    for await (const chunk of response as AsyncIterable<Buffer>) body += chunk.toString('utf8');
  return [response.statusCode ?? 0, body];
}

let kubeletPort = 0;
const port = 8080;

before(async () => {
  const clusterFolder = join(folder, 'cluster');
  mkdirSync(clusterFolder);
  fixture = await startClusterAgent({
    name: 'streams',
    cluster: { folder: clusterFolder, flags: ['--kubelet-preferred-address-types=InternalIP'] },
    agent: {
      config: {
        address: '0.0.0.0',
        enableServer: true,
        enableSystemLogQuery: true,
        streamingConnectionIdleTimeout: '8s',
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true },
          x509: { clientCAFile: join(clusterFolder, 'pki', 'ca.crt') },
        },
        authorization: { mode: 'Webhook' },
      },
    },
  });
  kubeletPort = Number(
    await fixture.cluster.kubectl([
      'get',
      'node',
      'node',
      '-o',
      'jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}',
    ]),
  );
  const echo = thenSleep(`mkdir -p /www; echo served > /www/index.html; httpd -p ${port} -h /www`);
  await create(
    pod('talks', {
      nodeName: 'node',
      containers: [container('main', { command: echo }), container('tty', { stdin: true, tty: true, command: ['sh'] })],
    }),
    'talks',
  );
});

describe('kubectl', { concurrency: 3 }, () => {
  for (const kubectl of kubectls) {
    const name = kubectl.replace(/.*\//, '');
    test(`${name} exec: streams, exit code, input to its end`, async () => {
      const exec = (...words: string[]): Promise<Result> => run(kubectl, ['exec', 'talks', '-c', 'main', ...words]);
      assert.deepEqual(await exec('--', 'sh', '-c', 'echo out; echo err >&2'), {
        code: 0,
        stdout: 'out\n',
        stderr: 'err\n',
      });
      const failed = await exec('--', 'sh', '-c', 'exit 7');
      assert.deepEqual([failed.code, failed.stderr], [7, 'command terminated with exit code 7\n']);
      const input = randomBytes(3_000_000);
      const counted = await run(kubectl, ['exec', '-i', 'talks', '-c', 'main', '--', 'md5sum'], input);
      assert.equal(counted.stdout.split(' ')[0], createHash('md5').update(input).digest('hex'), counted.stderr);
      const long = await exec('--', 'sh', '-c', 'yes | head -c 20000000');
      assert.deepEqual([long.code, long.stdout.length], [0, 20_000_000]);
      const missing = await exec('--', 'no-such-program');
      // Docker writes its words to the standard output.
      assert.match(testsOnDocker ? missing.stdout : missing.stderr, /no-such-program/);
      assert.match(
        (await run(kubectl, ['exec', 'talks', '-c', 'nobody', '--', 'ls'])).stderr,
        /container nobody is not valid for pod talks|container not found/,
      );
    });

    test(`${name} port-forward: many connections at once, and one without a listener`, async () => {
      const forward = start(kubectl, ['port-forward', 'talks', `:${port}`, ':1']);
      let said = '';
      const left = once(forward, 'exit');
      forward.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
      forward.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
      try {
        const local = (remote: number): Promise<number> =>
          eventually(async () => {
            const found = new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${remote}\\b`).exec(said)?.[1];
            assert.ok(found !== undefined, said);
            return Number(found);
          });
        const served = await local(port);
        const answers = await Promise.all(
          Array.from({ length: 20 }, async () =>
            (
              await fetch(`http://127.0.0.1:${served}/`, {
                headers: { connection: 'close' },
                signal: AbortSignal.timeout(20_000),
              })
            ).text(),
          ),
        );
        assert.deepEqual([...new Set(answers)], ['served\n']);
        const silent = connect(await local(1), '127.0.0.1');
        silent.on('error', () => undefined);
        silent.setTimeout(20_000, () => silent.destroy(new Error('the port was not closed')));
        silent.resume();
        await once(silent, 'close');
        await eventually(async () => assert.match(said, /error forwarding port 1 to pod|connection refused/));
      } finally {
        forward.kill();
        await left;
      }
    });

    test(`${name} cp: a large file there and back`, async () => {
      const [there, back] = [join(folder, `${name}-there`), join(folder, `${name}-back`)];
      writeFileSync(there, randomBytes(12_000_000));
      const sent = await run(kubectl, ['cp', there, `talks:/tmp/${name}`, '-c', 'main']);
      assert.equal(sent.code, 0, sent.stderr);
      const fetched = await run(kubectl, ['cp', `talks:/tmp/${name}`, back, '-c', 'main']);
      assert.equal(fetched.code, 0, fetched.stderr);
      assert.ok(readFileSync(there).equals(readFileSync(back)));
    });

    test(`${name} attach: input and output of what runs already, on its terminal`, async () => {
      const attached = start(kubectl, ['attach', '-i', '-t', 'talks', '-c', 'tty']);
      let out = '';
      attached.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
      attached.stderr?.resume();
      attached.stdin?.on('error', () => undefined);
      const left = once(attached, 'exit');
      try {
        await eventually(async () => {
          attached.stdin?.write(`echo "got-$((40+2))-${name}"\n`);
          await new Promise((resolve) => setTimeout(resolve, 200));
          assert.match(out, new RegExp(`got-42-${name}`));
        });
      } finally {
        attached.kill();
        await left;
      }
    });
  }

  test('debug adds a container, and runs in it', async () => {
    await create(pod('debugged', { nodeName: 'node' }), 'debugged');
    const image = (container('x') as { image: string }).image;
    const added = await run('kubectl', [
      'debug',
      'debugged',
      `--image=${image}`,
      '--image-pull-policy=IfNotPresent',
      '-c',
      'helper',
      '--',
      ...thenSleep('echo helper is here'),
    ]);
    assert.equal(added.code, 0, added.stderr);
    await eventually(
      async () => assert.equal((await run('kubectl', ['logs', 'debugged', '-c', 'helper'])).stdout, 'helper is here\n'),
      20_000,
    );
    assert.equal((await run('kubectl', ['exec', 'debugged', '-c', 'helper', '--', 'echo', 'yes'])).stdout, 'yes\n');
  });

  test('logs: since, tail, limit, timestamps, previous, follow to the end, and what waits', async () => {
    const twice = shell(
      'n=$(cat /v/n 2>/dev/null || echo 1); echo $((n+1)) > /v/n; for i in 1 2 3 4 5; do echo "run $n line $i"; done; [ $n = 1 ] && exit 1; trap "exit 0" TERM; sleep 100000 & wait',
    );
    await create(
      pod('logged', {
        nodeName: 'node',
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [container('main', { command: twice, volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
      'logged',
    );
    const logs = async (...words: string[]): Promise<string> =>
      (await run('kubectl', ['logs', 'logged', ...words])).stdout;
    await eventually(
      async () => assert.equal(await logs(), [1, 2, 3, 4, 5].map((each) => `run 2 line ${each}\n`).join('')),
      30_000,
    );
    assert.equal(await logs('--tail=2'), 'run 2 line 4\nrun 2 line 5\n');
    assert.equal(await logs('--previous', '--tail=1'), 'run 1 line 5\n');
    assert.equal(await logs('--limit-bytes=8'), 'run 2 li');
    assert.match(await logs('--timestamps', '--tail=1'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z run 2 line 5\n$/);
    assert.equal((await logs('--since=1h')).split('\n').length, 6);
    assert.equal(await logs('--since-time=2100-01-01T00:00:00Z'), '');
    const follower = start('kubectl', ['logs', '-f', 'logged', '--tail=1']);
    const following = finish(follower);
    // Of a pod that has ended before the log is open, there may be no log.
    await once(follower.stdout ?? follower, 'data');
    await fixture.cluster.kubectl(['delete', 'pod', 'logged', '--wait=false']);
    assert.deepEqual(await following, { code: 0, stdout: 'run 2 line 5\n', stderr: '' });
    await fixture.cluster.kubectl(
      ['create', '-f', '-'],
      JSON.stringify(
        pod('waits', {
          nodeName: 'node',
          containers: [container('main', { image: 'nowhere.invalid/x:1', imagePullPolicy: 'Never' })],
        }),
      ),
    );
    await eventually(
      async () =>
        assert.match(
          (await run('kubectl', ['logs', 'waits'])).stderr,
          /Error from server \(BadRequest\): container "main" in pod "waits" is waiting to start: ErrImageNeverPull/,
        ),
      20_000,
    );
  });

  test('get --raw reaches the public and the protected paths of the kubelet', async () => {
    const raw = (path: string): Promise<Result> => run('kubectl', ['get', '--raw', `/api/v1/nodes/node/proxy${path}`]);
    assert.equal((await raw('/healthz')).stdout, 'ok');
    const names = (text: string): string[] =>
      (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
    assert.ok(names((await raw('/pods')).stdout).includes('talks'));
    assert.ok(names((await raw('/runningpods/')).stdout).includes('talks'));
    assert.equal(
      (JSON.parse((await raw('/configz')).stdout) as { kubeletconfig: { kind: string } }).kubeletconfig.kind,
      'KubeletConfiguration',
    );
    assert.match((await raw('/flagz')).stdout, /^\nkubelet flagz\nWarning: .*\n[^]*hostname-override=node\n/);
    assert.ok(Array.isArray(JSON.parse((await raw('/explain')).stdout)));
    assert.match(
      (await raw('/statusz')).stdout,
      /^\nkubelet statusz\n[^]*Binary version: v1\.36\.0\nPaths: .*\/healthz/,
    );
    assert.match((await raw('/logs/')).stdout, /<pre>\n/);
    assert.match((await raw('/logs/?query=no-such-service')).stdout, /log not found for no-such-service/);
    assert.match((await raw('/logs/?query=a%3Bb')).stderr, /input contains unsupported characters/);
    assert.match((await raw('/containerLogs/default/nobody/main')).stderr, /could not find|does not exist/);
    assert.match((await raw('/nothing')).stderr, /NotFound/);
    assert.ok('nodes' in JSON.parse((await raw('/debug/pprof/profile?seconds=0.2')).stdout));
    const post = await run('kubectl', [
      'create',
      '--raw',
      '/api/v1/nodes/node/proxy/run/default/talks/main?cmd=echo+hello',
      '-f',
      '/dev/null',
    ]);
    assert.equal(post.stdout, 'hello\n', post.stderr);
    assert.match(
      (
        await run('kubectl', [
          'create',
          '--raw',
          '/api/v1/nodes/node/proxy/checkpoint/default/talks/main',
          '-f',
          '/dev/null',
        ])
      ).stderr,
      /checkpointing of default\/talks\/main failed/,
    );
  });

  test('a user who may only get nodes/proxy cannot execute commands in a container with any method', async () => {
    const { cluster } = fixture;
    await cluster.kubectl(['create', 'serviceaccount', 'reader']);
    await cluster.kubectl(['create', 'clusterrole', 'proxy-reader', '--verb=get', '--resource=nodes/proxy']);
    await cluster.kubectl([
      'create',
      'clusterrolebinding',
      'proxy-reader',
      '--clusterrole=proxy-reader',
      '--serviceaccount=default:reader',
    ]);
    const token = (await cluster.kubectl(['create', 'token', 'reader'])).trim();
    const reads = { authorization: `Bearer ${token}` };
    await eventually(async () => assert.equal((await ask('GET', '/pods', reads))[0], 200));
    const upgrade = {
      ...reads,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'v5.channel.k8s.io',
    };
    for (const path of [
      '/exec/default/talks/main?command=id&output=1',
      '/attach/default/talks/main?output=1',
      '/portForward/default/talks',
      '/run/default/talks/main?cmd=id',
    ]) {
      for (const [method, headers] of [
        ['GET', upgrade],
        ['GET', reads],
        ['POST', reads],
      ] as const) {
        const [status, body] = await ask(method, path, headers);
        assert.deepEqual(
          [
            status,
            /^Forbidden \(user=system:serviceaccount:default:reader, verb=create, resource=nodes, subresource\(s\)=\[proxy\]\)/.test(
              body,
            ),
          ],
          [403, true],
          `${method} ${path}: ${body}`,
        );
      }
    }
    for (const headers of [{}, { connection: 'Upgrade', upgrade: 'SPDY/3.1' }] as Record<string, string>[])
      assert.deepEqual(await ask('POST', '/exec/default/talks/main?command=id&output=1', headers), [
        401,
        'Unauthorized',
      ]);
  });

  test('a flood of requests for everything, wrong ones too, leaves the agent as large as it was (CVE-2020-8551)', async () => {
    const { agent } = fixture;
    const residentMb = (): number =>
      Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${agent.pid}/status`, 'utf8'))?.[1]) / 1024;
    const token = (await fixture.cluster.kubectl(['create', 'token', 'default'])).trim();
    const paths = [
      '/pods',
      '/exec/a/b/c',
      '/containerLogs/a/b/c?tailLines=-1',
      '/metrics',
      '/stats/summary',
      '/run/a/b/c',
      '/checkpoint/a/b/c',
      '/logs/',
      '/configz',
      '/debug/pprof/profile',
      '/%',
      '//',
      `/${'x'.repeat(4000)}`,
    ];
    const flood = async (requests: number): Promise<void> => {
      let left = requests;
      const worker = async (): Promise<void> => {
        while (left-- > 0) {
          const path = `${paths[left % paths.length] ?? ''}${left % 7 === 0 ? `/${left}` : ''}`;
          await ask(
            ['GET', 'POST', 'PUT', 'BREW'][left % 4] ?? 'GET',
            path,
            left % 3 === 0
              ? { authorization: `Bearer ${token}` }
              : { authorization: `Bearer ${left}`, 'x-large': 'y'.repeat(2000) },
          ).catch(() => undefined);
        }
      };
      await Promise.all(Array.from({ length: 16 }, worker));
    };
    await flood(100);
    const beforeMb = residentMb();
    await flood(400);
    assert.ok(residentMb() < beforeMb + 40, `${residentMb()} MiB, ${beforeMb} before`);
    const metrics = (await run('kubectl', ['get', '--raw', '/api/v1/nodes/node/proxy/metrics'])).stdout;
    const series = metrics.split('\n').filter((line) => line.startsWith('kubelet_http_requests_total{'));
    assert.ok(series.length > 0 && series.length < 60, series.join('\n'));
    assert.equal((await run('kubectl', ['get', '--raw', '/api/v1/nodes/node/proxy/healthz'])).stdout, 'ok');
  });

  test('a stream over which nothing goes is cut after streamingConnectionIdleTimeout', async (context) => {
    const { minor } = (
      JSON.parse((await run(webSocketKubectl, ['version', '--client', '-o', 'json'])).stdout) as {
        clientVersion: { minor: string };
      }
    ).clientVersion;
    // The pings of a SPDY client keep its stream alive, as they do upstream.
    if (parseInt(minor, 10) < 31) return context.diagnostic(`kubectl 1.${minor} has no WebSockets`);
    const cut = await run(webSocketKubectl, ['exec', 'talks', '-c', 'main', '--', 'sleep', '50']);
    assert.deepEqual([cut.code === 0, cut.stdout], [false, '']);
  });

  test('streams that are cut leave nothing behind in the agent', async () => {
    const { agent } = fixture;
    const files = (): number => readdirSync(`/proc/${agent.pid}/fd`).length;
    const children: ChildProcess[] = [];
    await eventually(async () =>
      assert.equal((await run('kubectl', ['exec', 'talks', '-c', 'main', '--', 'true'])).code, 0),
    );
    const before = files();
    for (let index = 0; index < 8; index++) {
      const words =
        index % 2 === 0
          ? ['exec', '-i', 'talks', '-c', 'main', '--', 'sh', '-c', 'yes']
          : ['exec', '-i', 'talks', '-c', 'main', '--', 'cat'];
      const child = start(kubectls[index % kubectls.length] ?? 'kubectl', words);
      child.stdout?.pause();
      child.stderr?.resume();
      children.push(child);
    }
    await eventually(async () => assert.ok(files() >= before + 8, `${files()} open, ${before} before`));
    for (const child of children) child.kill('SIGKILL');
    await eventually(async () => assert.ok(files() <= before + 2, `${files()} open, ${before} before`), 20_000);
  });
});
