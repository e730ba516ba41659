// Fields of a pod that no other file here tests, each with its effect on a real container: standard input, termination
// messages, file modes, optional sources, ports of one address, gRPC probes, groups.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { handleUnaryCall } from '@grpc/grpc-js';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Event } from '../../src/api/core/event.ts';
import type { ListOf } from '../../src/api/core/meta.ts';
import { testTls } from '../../src/kubelet/adapters/testing/test-tls.ts';
import { freePort } from '../../src/up/agent.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { NODE } from './support/agent.ts';
import { configMap, container, pod, secret, shell, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf, isReady } from './support/watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-fields-'));
// More domains than fit beside those of a cluster.
const resolvConf = join(folder, 'resolv.conf');
writeFileSync(
  resolvConf,
  `nameserver 127.0.0.1\nsearch ${Array.from({ length: 30 }, (_, index) => `d${index}`).join(' ')}\n`,
);
const fixture = agentFixture({ name: 'fields', agent: { config: { resolvConf, clusterDomain: 'cluster.local' } } });
after(() => rmSync(folder, { recursive: true, force: true }));

describe('a container', SIDE_BY_SIDE, () => {
  test('has a standard input and a terminal if it asks for them, and neither otherwise', async () => {
    const { agent, containerd } = fixture;
    const asking = { plain: {}, input: { stdin: true, stdinOnce: true }, terminal: { stdin: true, tty: true } };
    const seen = await agent.run(
      pod('input', {
        containers: Object.entries(asking).map(([name, fields]) =>
          container(name, { ...fields, command: ['sleep', '100000'] }),
        ),
      }),
    );
    const inputs = await Promise.all(
      Object.keys(asking).map((name) => agent.inside('input', 'readlink /proc/1/fd/0', name)),
    );
    assert.match(inputs.join(' '), /^\/dev\/null pipe:\S+ \/dev\/pts\/\d+$/);
    const reported = await Promise.all(
      Object.keys(asking).map(
        async (name) =>
          (await containerd.cri.runtime.containerStatus({ containerId: containerId(seen, name), verbose: true })).info[
            'info'
          ] ?? '',
      ),
    );
    assert.deepEqual(
      reported.map((info) => /"stdin_once": ?true/.test(info)),
      [false, true, false],
    );
  });

  test('says its last words in the file it chose', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'last-words',
      pod('last-words', {
        restartPolicy: 'Never',
        containers: [
          container('main', {
            terminationMessagePath: '/tmp/words',
            command: shell('printf farewell > /tmp/words; exit 1'),
          }),
        ],
      }),
    );
    await agent.waitFor('last-words', 'its words', (now) => containerOf(now).state?.terminated?.message === 'farewell');
    await agent.remove('last-words');
  });

  test('ignores a tcpSocket hook, which is not supported: the container is stopped, with an event', async () => {
    const { agent } = fixture;
    const seen = await agent.run(
      pod('no-hook', { containers: [container('main', { lifecycle: { preStop: { tcpSocket: { port: 80 } } } })] }),
    );
    agent.removeManifest('no-hook');
    await agent.gone('no-hook');
    const { items } = await agent.get<ListOf<Event>>('/api/events');
    assert.ok(
      items.some(
        ({ involvedObject, reason }) => involvedObject.uid === seen.metadata.uid && reason === 'FailedPreStopHook',
      ),
    );
  });

  test('is not enough for a pod with readiness gates that are not set', async () => {
    const { agent } = fixture;
    agent.writeManifest('gated', pod('gated', { readinessGates: [{ conditionType: 'example.org/wired' }] }));
    const seen = await agent.waitFor('gated', 'running', (now) => containerOf(now).ready);
    const { status, reason, message } = seen.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
    assert.deepEqual(
      [status, reason, message],
      [
        'False',
        'ReadinessGatesNotReady',
        'corresponding condition of pod readiness gate "example.org/wired" does not exist.',
      ],
    );
    await agent.remove('gated');
  });

  test('runs the same whatever fields for the scheduler or Windows its pod has', async () => {
    const { agent } = fixture;
    const near = {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'web' } } } },
      ],
    };
    const windowsOptions = { runAsUserName: 'Administrator' };
    const spec = {
      schedulerName: 'my-scheduler',
      preemptionPolicy: 'Never',
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
      affinity: { podAffinity: near, podAntiAffinity: near },
      securityContext: { windowsOptions },
      containers: [container('main', { securityContext: { windowsOptions } })],
    };
    await agent.run(pod('for-others', spec));
    assert.equal(await agent.inside('for-others', 'id -u'), '0');
  });

  test('starts without objects that are optional and not there', async () => {
    const { agent } = fixture;
    const envFrom = [
      { configMapRef: { name: 'nowhere', optional: true } },
      { secretRef: { name: 'nowhere', optional: true } },
    ];
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'nowhere', key: 'a', optional: true } } }];
    await agent.run(pod('optional', { containers: [container('main', { envFrom, env })] }));
    assert.equal(await agent.inside('optional', 'echo ${A-unset}'), 'unset');
  });
});

describe('volumes of objects and fields', SIDE_BY_SIDE, () => {
  test('have the requested file modes and selected keys, and skip missing optional objects', async () => {
    const { agent } = fixture;
    const volumes = [
      {
        name: 'c',
        configMap: {
          name: 'modes',
          defaultMode: 0o600,
          items: [
            { key: 'a', path: 'a' },
            { key: 'b', path: 'deep/b' },
          ],
        },
      },
      { name: 'o', configMap: { name: 'nowhere', optional: true } },
      { name: 's', secret: { secretName: 'modes', defaultMode: 0o440 } },
      {
        name: 'd',
        downwardAPI: {
          defaultMode: 0o604,
          items: [
            { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
            {
              path: 'millis',
              mode: 0o400,
              resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' },
            },
          ],
        },
      },
      {
        name: 'p',
        projected: {
          defaultMode: 0o640,
          sources: [
            {
              configMap: {
                name: 'modes',
                items: [
                  { key: 'a', path: 'deep/a' },
                  { key: 'b', path: 'b', mode: 0o444 },
                ],
              },
            },
            { configMap: { name: 'nowhere', optional: true } },
            { secret: { name: 'nowhere', optional: true } },
            { secret: { name: 'modes', items: [{ key: 'k', path: 'k' }] } },
          ],
        },
      },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` }));
    await agent.run(
      pod('modes', {
        volumes,
        containers: [container('main', { volumeMounts, resources: { limits: { cpu: '150m' } } })],
      }),
      configMap('modes', { a: 'A', b: 'B' }),
      secret('modes', { k: 'K' }),
    );
    assert.deepEqual(
      (
        await agent.inside(
          'modes',
          'cd /v; for f in $(find * -follow -type f | grep -v "\\.\\." | sort); do echo "$f $(stat -L -c %a $f) $(cat $f)"; done',
        )
      ).split('\n'),
      [
        'c/a 600 A',
        'c/deep/b 600 B',
        'd/millis 400 150',
        'd/name 604 modes-node',
        'p/b 444 B',
        'p/deep/a 640 A',
        'p/k 640 K',
        's/k 440 K',
      ],
    );
  });

  test('of static pods show nothing that only an API server can give: the manifest is refused in upstream’s words', async () => {
    const { agent } = fixture;
    const sources = {
      token: [
        { serviceAccountToken: { path: 'token' } },
        'serviceAccountToken: pod default/token: Forbidden: must not be specified when serviceAccountName is not set',
      ],
      bundle: [{ clusterTrustBundle: { name: 'x', path: 'ca' } }, 'static pods may not reference clustertrustbundles'],
      certificate: [
        {
          podCertificate: {
            signerName: 'example.org/s',
            keyType: 'ED25519',
            keyPath: 'key',
            certificateChainPath: 'chain',
          },
        },
        'static pods may not reference podcertificates',
      ],
    } as const;
    for (const [name, [source]] of Object.entries(sources))
      agent.writeManifest(
        name,
        pod(name, {
          volumes: [{ name: 'v', projected: { sources: [source] } }],
          containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
        }),
      );
    const reported = async (): Promise<boolean> => {
      const problems = (await agent.problems()).join('\n');
      return Object.values(sources).every(([, what]) => problems.includes(what));
    };
    assert.ok(await waitUntil(reported, 10_000, 50), (await agent.problems()).join('\n'));
    agent.removeManifest(...Object.keys(sources));
  });
});

describe('ports and probes', SIDE_BY_SIDE, () => {
  test('a port of one address of the host is not on the others', async () => {
    const { agent } = fixture;
    const hostIP = (await agent.run(pod('address'))).status?.hostIP;
    const hostPort = await freePort(0);
    const ports = [{ containerPort: 8080, hostPort, hostIP, protocol: 'TCP' }];
    const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
    await agent.run(
      pod('one-address', {
        containers: [
          container('main', {
            command: thenSleep('echo hello > /www/index.html; httpd -p 8080 -h /www'),
            ports,
            readinessProbe,
          }),
        ],
      }),
    );
    const ask = (host: string | undefined): Promise<Response> =>
      fetch(`http://${host}:${hostPort}/`, { signal: AbortSignal.timeout(5000) });
    assert.equal((await (await ask(hostIP)).text()).trim(), 'hello');
    await assert.rejects(ask('127.0.0.1'));
  });

  test('a pod is ready when its service answers to gRPC that it serves, and not before', async () => {
    const { agent } = fixture;
    const asked = new Set<string>();
    let answer = 2;
    const check: handleUnaryCall<Buffer, number> = (call, callback) => {
      asked.add(call.request.subarray(2).toString('utf8'));
      callback(null, answer);
    };
    const health = new Server();
    const definition = {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestDeserialize: (bytes: Buffer) => bytes,
      requestSerialize: (bytes: Buffer) => bytes,
      responseSerialize: (status: number) => Buffer.from([8, status]),
      responseDeserialize: (bytes: Buffer) => bytes[1] ?? 0,
    } as const;
    health.addService({ check: definition }, { check });
    // A pod on the network of the host is asked at the address of the host.
    const port = await new Promise<number>((resolve, reject) =>
      health.bindAsync('0.0.0.0:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    try {
      agent.writeManifest(
        'grpc',
        pod('grpc', {
          hostNetwork: true,
          containers: [container('main', { readinessProbe: { grpc: { port, service: 'shop' }, periodSeconds: 1 } })],
        }),
      );
      await agent.explained('grpc', 'what it answered', (now) =>
        now.timeline.some(
          ({ message }) => message === 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")',
        ),
      );
      assert.equal(isReady(agent.pod('grpc')), false);
      answer = 1;
      await agent.ready('grpc');
      assert.deepEqual([...asked], ['shop']);
    } finally {
      await agent.remove('grpc');
      health.forceShutdown();
    }
  });

  test('a port of UDP is one of UDP', async () => {
    const { agent } = fixture;
    const hostPort = await freePort(0);
    const seen = await agent.run(
      pod('datagrams', {
        containers: [container('main', { ports: [{ containerPort: 5353, hostPort, protocol: 'UDP' }] })],
      }),
    );
    const rules = execFileSync('iptables', ['-w', '10', '-t', 'nat', '-S'], { encoding: 'utf8' })
      .split('\n')
      .filter((rule) => rule.includes(`--to-destination ${seen.status?.podIP}:5353`));
    assert.deepEqual(
      rules.map((rule) => / -p (\w+) .*--dport (\d+) /.exec(rule)?.slice(1)),
      [['udp', String(hostPort)]],
    );
  });

  test('probes ask the host they name, by TLS if they say so, whichever CA has signed its certificate', async () => {
    const { agent } = fixture;
    const asked: string[] = [];
    const server = createTlsServer({ ...testTls }, (request, response) => {
      asked.push(`${request.headers.host?.split(':')[0]} ${request.url}`);
      response.end('ok');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const probes = {
        startupProbe: { tcpSocket: { host: '127.0.0.1', port }, periodSeconds: 1 },
        readinessProbe: { httpGet: { host: '127.0.0.1', port, path: '/well', scheme: 'HTTPS' }, periodSeconds: 1 },
      };
      await agent.run(pod('elsewhere', { containers: [container('main', probes)] }));
      assert.equal(asked[0], '127.0.0.1 /well');
    } finally {
      await agent.remove('elsewhere');
      server.closeAllConnections();
      server.close();
    }
  });

  test('a probe has to pass as often in a row as it says', async () => {
    const { agent } = fixture;
    await agent.run(
      pod('in-a-row', {
        containers: [
          container('main', {
            readinessProbe: {
              exec: { command: shell('echo passed >> /tmp/passed') },
              periodSeconds: 1,
              successThreshold: 3,
            },
          }),
        ],
      }),
    );
    assert.ok(Number(await agent.inside('in-a-row', 'wc -l < /tmp/passed')) >= 3);
  });
});

test('a resolver configuration of the node that exceeds the limits of pods is an event of the node', async () => {
  const { items } = await fixture.agent.get<ListOf<Event>>('/api/events');
  const reported = items
    .filter(({ reason }) => reason === 'CheckLimitsForResolvConf')
    .map(({ type, message, involvedObject }) => [type, message, involvedObject.kind]);
  assert.deepEqual(reported, [
    ['Warning', `Resolv.conf file '${resolvConf}' contains search line consisting of more than 29 domains!`, 'Node'],
  ]);
});

describe('the group of the pod', SIDE_BY_SIDE, () => {
  for (const [fsGroupChangePolicy, group] of [
    ['OnRootMismatch', 0],
    ['Always', 4242],
  ] as const) {
    test(`with ${fsGroupChangePolicy} ${group === 0 ? 'leaves alone what lies below a root that is right' : 'is given to all of the volume at each start'}`, async () => {
      const { agent } = fixture;
      const name = fsGroupChangePolicy.toLowerCase();
      const at = join(folder, name);
      mkdirSync(at);
      writeFileSync(join(at, 'file'), 'old', { mode: 0o644 });
      chownSync(at, 0, 4242);
      chmodSync(at, 0o2775);
      const here = {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE] }] },
          ],
        },
      };
      const volume = {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: { capacity: { storage: '1Mi' }, accessModes: ['ReadWriteOnce'], local: { path: at }, nodeAffinity: here },
      };
      const claim = {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: '',
          resources: { requests: { storage: '1Mi' } },
          volumeName: name,
        },
      };
      const spec = {
        securityContext: { fsGroup: 4242, fsGroupChangePolicy },
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      };
      await agent.run(pod(name, spec), volume, claim);
      assert.equal(statSync(join(at, 'file')).gid, group);
      await agent.remove(name);
    });
  }
});
