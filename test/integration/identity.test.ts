// The identity of a pod and its environment: names, resolver, services, values from files, runtime class and its
// overhead.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { NODE, podName } from './support/agent.ts';
import { testsOnDocker } from './support/containerd.ts';
import { configMap, container, pod, secret, shell, SLEEP, thenSleep } from './support/manifests.ts';
import { waitUntil } from './support/patience.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-identity-'));
/** A second handler with its own program: it records its call and then runs runc. */
const second = join(folder, 'second-runtime');
const asked = join(folder, 'asked');
writeFileSync(second, `#!/bin/sh\necho "$@" >> ${asked}\nexec runc "$@"\n`);
chmodSync(second, 0o755);

const fixture = agentFixture({
  name: 'identity',
  handlers: { second },
  agent: { config: { clusterDomain: 'cluster.local', clusterDNS: ['10.96.0.10'] } },
});
// After the fixture's own clean-up: containerd calls the program until all pods are removed.
after(() => rmSync(folder, { recursive: true, force: true }));
const runtimeClass = (name: string, handler: string, rest: object = {}): object => ({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name },
  handler,
  ...rest,
});
const service = (name: string, spec: object, namespace = 'default'): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec,
});
const fileRef = (path: string, key: string, optional = false): object => ({
  fileKeyRef: { volumeName: 'scratch', path, key, optional },
});
/** A pod whose first container writes into the volume from which the second one reads its variables. */
const fromFile = (name: string, write: string, env: readonly object[]): ReturnType<typeof pod> =>
  pod(name, {
    volumes: [{ name: 'scratch', emptyDir: {} }],
    initContainers: [
      container('write', { command: shell(write), volumeMounts: [{ name: 'scratch', mountPath: '/s' }] }),
    ],
    containers: [container('main', { env })],
  });

describe('environment', SIDE_BY_SIDE, () => {
  test('services of the pod’s namespace are in the environment, unless links are disabled; the API server always', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'services',
      service('my-shop', {
        clusterIP: '10.96.1.1',
        ports: [
          { name: 'web-ui', port: 80 },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
      }),
      service('kubernetes', { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443 }] }),
      service('foreign', { clusterIP: '10.96.1.2', ports: [{ port: 1 }] }, 'other'),
      service('headless', { clusterIP: 'None' }),
    );
    const env = [
      { name: 'MY_SHOP_PORT', value: 'mine' },
      { name: 'URL', value: 'http://$(MY_SHOP_SERVICE_HOST):$(MY_SHOP_SERVICE_PORT_WEB_UI)' },
    ];
    await agent.run(pod('linked', { containers: [container('main', { env })] }));
    const seen = (await agent.inside('linked', 'env'))
      .split('\n')
      .filter((line) => /^(MY_SHOP|KUBERNETES|FOREIGN|HEADLESS|URL)/.test(line))
      .sort();
    assert.deepEqual(seen, [
      'KUBERNETES_PORT=tcp://10.96.0.1:443',
      'KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443',
      'KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1',
      'KUBERNETES_PORT_443_TCP_PORT=443',
      'KUBERNETES_PORT_443_TCP_PROTO=tcp',
      'KUBERNETES_SERVICE_HOST=10.96.0.1',
      'KUBERNETES_SERVICE_PORT=443',
      'KUBERNETES_SERVICE_PORT_HTTPS=443',
      'MY_SHOP_PORT=mine',
      'MY_SHOP_PORT_53_UDP=udp://10.96.1.1:53',
      'MY_SHOP_PORT_53_UDP_ADDR=10.96.1.1',
      'MY_SHOP_PORT_53_UDP_PORT=53',
      'MY_SHOP_PORT_53_UDP_PROTO=udp',
      'MY_SHOP_PORT_80_TCP=tcp://10.96.1.1:80',
      'MY_SHOP_PORT_80_TCP_ADDR=10.96.1.1',
      'MY_SHOP_PORT_80_TCP_PORT=80',
      'MY_SHOP_PORT_80_TCP_PROTO=tcp',
      'MY_SHOP_SERVICE_HOST=10.96.1.1',
      'MY_SHOP_SERVICE_PORT=80',
      'MY_SHOP_SERVICE_PORT_DNS=53',
      'MY_SHOP_SERVICE_PORT_WEB_UI=80',
      'URL=http://10.96.1.1:80',
    ]);
    await agent.run(pod('unlinked', { enableServiceLinks: false }));
    assert.equal(
      await agent.inside('unlinked', 'env | grep -c SERVICE_HOST; echo $KUBERNETES_SERVICE_HOST'),
      '1\n10.96.0.1',
    );
  });

  test('values come from a file that an init container wrote', async () => {
    const { agent } = fixture;
    const write = `mkdir -p /s/d && printf "# made here\\nA='one two' # remark\\nB='l1\\nl2'\\n" > /s/d/env && ln -s d/env /s/link`;
    await agent.run(
      fromFile('file-env', write, [
        { name: 'A', valueFrom: fileRef('d/env', 'A') },
        { name: 'B', valueFrom: fileRef('link', 'B') },
        { name: 'NONE', valueFrom: fileRef('d/env', 'C', true) },
        { name: 'ALL', value: '[$(A)]' },
      ]),
    );
    assert.equal(await agent.inside('file-env', 'echo "$A|$B|${NONE-unset}|$ALL"'), 'one two|l1\nl2|unset|[one two]');
  });

  for (const [name, write, why] of [
    ['file-link-out', 'ln -s /etc/passwd /s/env', 'couldn\'t parse env file: there is no file "env" in volume scratch'],
    ['file-climbs-out', 'ln -s ../../../../../../../../etc/hostname /s/env', "couldn't parse env file"],
    ['file-is-a-pipe', 'mkfifo /s/env', 'couldn\'t parse env file: "env" in volume scratch is not a file'],
    [
      'file-is-wrong',
      "echo 'A=unquoted' > /s/env",
      "couldn't parse env file: invalid environment variable format at line 1: value must be enclosed in single quotes",
    ],
    ['file-lacks-key', `echo "B='b'" > /s/env`, 'environment variable key "A" not found in file'],
  ] as const) {
    test(`${name} is refused with a reason`, async () => {
      const { agent } = fixture;
      agent.writeManifest(name, fromFile(name, write, [{ name: 'A', valueFrom: fileRef('env', 'A') }]));
      const seen = await agent.waitFor(
        name,
        'held back',
        (now) => containerOf(now).state?.waiting?.reason === 'CreateContainerConfigError',
      );
      assert.ok(
        containerOf(seen).state?.waiting?.message?.startsWith(why),
        String(containerOf(seen).state?.waiting?.message),
      );
    });
  }

  test('fields, resources and expansion are as upstream has them, in command and arguments too', async () => {
    const { agent } = fixture;
    const field = (name: string, fieldPath: string): object => ({ name, valueFrom: { fieldRef: { fieldPath } } });
    const resource = (name: string, of: string, divisor?: string): object => ({
      name,
      valueFrom: { resourceFieldRef: { resource: of, ...(divisor === undefined ? {} : { divisor }) } },
    });
    const env = [
      field('NODE', 'spec.nodeName'),
      field('UID_', 'metadata.uid'),
      field('SPACE', 'metadata.namespace'),
      field('NOTE', "metadata.annotations['a/b']"),
      field('IPS', 'status.podIPs'),
      field('HOST', 'status.hostIP'),
      field('HOSTS', 'status.hostIPs'),
      resource('CPU', 'limits.cpu', '1m'),
      resource('REQUEST', 'requests.cpu', '1m'),
      resource('MEMORY', 'limits.memory', '1Mi'),
    ];
    const command = thenSleep("echo '$(NODE) $$(NODE) $(NOPE) $(1st.key)'");
    const main = container('main', {
      env,
      envFrom: [{ configMapRef: { name: 'odd-keys' } }, { prefix: 'S_', secretRef: { name: 'odd-secret' } }],
      command,
      resources: { requests: { cpu: '250m' }, limits: { memory: '64Mi' } },
    });
    const seen = await agent.run(
      pod('shown', { containers: [main] }, { annotations: { 'a/b': 'note' } }),
      configMap('odd-keys', { '1st.key': 'odd', constructor: 'c' }),
      secret('odd-secret', { 'a-b': 'deep-secret' }),
    );
    assert.ok(await waitUntil(() => agent.output('shown') !== '', 5000, 20), 'nothing was written');
    assert.match(agent.output('shown'), new RegExp(`^${NODE} \\$\\(NODE\\) \\$\\(NOPE\\) odd$`));
    const { podIP, hostIP, hostIPs } = seen.status ?? {};
    assert.equal(
      await agent.inside(
        'shown',
        'echo "$NODE|$UID_|$SPACE|$NOTE|$IPS|$HOST|$HOSTS|$REQUEST|$MEMORY"; tr "\\0" "\\n" < /proc/1/environ | grep -E "^(1st.key|constructor|S_a-b)=" | sort; test "$CPU" -ge 1000 && echo whole',
      ),
      `${NODE}|${seen.metadata.uid}|default|note|${podIP}|${hostIP}|${(hostIPs ?? []).map(({ ip }) => ip).join()}|250|64\n1st.key=odd\nS_a-b=deep-secret\nconstructor=c\nwhole`,
    );
    assert.equal(agent.log.includes('deep-secret'), false);
  });

  test('a pod on the network of the host sees the addresses of the host as its own', async () => {
    const { agent } = fixture;
    const seen = await agent.run(
      pod('host-shown', {
        hostNetwork: true,
        containers: [
          container('main', {
            env: [
              { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
            ],
          }),
        ],
      }),
    );
    assert.equal(await agent.inside('host-shown', 'echo "$IP|$HOST"'), `${seen.status?.hostIP}|${seen.status?.hostIP}`);
  });
});

describe('names', SIDE_BY_SIDE, () => {
  test('an override is host name and entry in /etc/hosts', async () => {
    const { agent } = fixture;
    const seen = await agent.run(
      pod('overridden', { hostnameOverride: 'db.example.org', hostname: 'ignored', subdomain: 'ignored' }),
    );
    assert.equal(
      await agent.inside('overridden', 'hostname; grep example /etc/hosts; stat -c %a /etc/hosts'),
      `db.example.org\n${seen.status?.podIP}\tdb.example.org\n644`,
    );
  });

  test('the full name is the host name when the pod asks for it', async () => {
    const { agent } = fixture;
    await agent.run(pod('full', { hostname: 'h', subdomain: 's', setHostnameAsFQDN: true }));
    assert.equal(await agent.inside('full', 'hostname'), 'h.s.default.svc.cluster.local');
  });

  test('an FQDN that is too long fails the sandbox with the error text of upstream', async () => {
    const { agent } = fixture;
    const hostname = 'x'.repeat(50);
    agent.writeManifest('too-long', pod('too-long', { hostname, subdomain: 's', setHostnameAsFQDN: true }));
    const fqdn = `${hostname}.s.default.svc.cluster.local`;
    const wanted = `Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, ${fqdn.length} characters requested)`;
    await agent.explained('too-long', 'the length', (now) =>
      now.timeline.some(({ reason, message }) => reason === 'FailedCreatePodSandBox' && message === wanted),
    );
  });

  test('a long pod name is cut to what the kernel takes', async () => {
    const { agent } = fixture;
    const name = `${'n'.repeat(62)}-${'m'.repeat(10)}`;
    await agent.run(pod(name));
    assert.equal(await agent.inside(name, 'hostname'), 'n'.repeat(62));
  });

  test('an /etc/hosts that the container brings stays', async () => {
    const { agent } = fixture;
    const mount = { name: 'own', mountPath: '/etc/hosts', subPath: 'hosts' };
    await agent.run(
      pod('own-hosts', {
        volumes: [{ name: 'own', configMap: { name: 'own-hosts' } }],
        containers: [container('main', { volumeMounts: [mount] })],
      }),
      configMap('own-hosts', { hosts: '9.9.9.9 mine' }),
    );
    assert.equal(await agent.inside('own-hosts', 'cat /etc/hosts'), '9.9.9.9 mine');
  });

  test('the resolver asks the cluster first, and what a pod adds is merged', async () => {
    const { agent } = fixture;
    await agent.run(
      pod('resolver', {
        dnsConfig: {
          nameservers: ['10.96.0.10', '10.9.9.9'],
          searches: ['extra.test'],
          options: [{ name: 'ndots', value: '3' }, { name: 'rotate' }],
        },
      }),
    );
    const lines = (await agent.inside('resolver', 'cat /etc/resolv.conf')).split('\n');
    assert.match(
      lines.find((line) => line.startsWith('search')) ?? '',
      /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local( \S+)* extra\.test$/,
    );
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('search')),
      ['nameserver 10.96.0.10', 'nameserver 10.9.9.9', 'options ndots:3 rotate'],
    );
  });
});

describe('runtime classes', SIDE_BY_SIDE, () => {
  const v2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const ofPod = async (seen: Pod, controller: string, file: string): Promise<string> => {
    const { info } = await fixture.containerd.cri.runtime.containerStatus({
      containerId: containerId(seen),
      verbose: true,
    });
    const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
    const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
      .split('\n')
      .find((candidate) =>
        v2 ? candidate.startsWith('0::') : candidate.split(':')[1]?.split(',').includes(controller),
      );
    return readFileSync(
      join('/sys/fs/cgroup', v2 ? '' : controller, line?.split(':')[2] ?? '', '..', file),
      'utf8',
    ).trim();
  };

  test('a pod waits for its class, and runs with its handler and its overhead as soon as it is there', async () => {
    const { agent, containerd } = fixture;
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '32Mi' } };
    agent.writeManifest(
      'classed',
      pod('classed', { runtimeClassName: 'late', containers: [container('main', { resources })] }),
    );
    await agent.explained('classed', 'the missing class', (now) =>
      now.timeline.some(
        ({ reason, message }) =>
          reason === 'FailedCreatePodSandBox' &&
          message === 'Failed to create pod sandbox: runtimeclass.node.k8s.io "late" not found',
      ),
    );
    agent.writeManifest(
      'late-class',
      runtimeClass('late', 'second', {
        overhead: { podFixed: { cpu: '100m', memory: '16Mi' } },
        scheduling: { tolerations: [{ key: 'late', operator: 'Exists' }] },
      }),
    );
    const seen = await agent.ready('classed');
    assert.deepEqual(
      [seen.spec.overhead, seen.spec.tolerations?.some(({ key }) => key === 'late')],
      [{ cpu: '100m', memory: '16Mi' }, true],
    );
    const { items } = await containerd.cri.runtime.listPodSandbox({
      filter: { id: '', state: undefined, labelSelector: { 'io.kubernetes.pod.name': podName('classed') } },
    });
    assert.deepEqual(
      items.map(({ runtimeHandler }) => runtimeHandler),
      ['second'],
    );
    // containerd shows what the runtime was given; Docker's sandboxes do not.
    if (testsOnDocker) return;
    const { info } = await containerd.cri.runtime.podSandboxStatus({ podSandboxId: items[0]?.id ?? '', verbose: true });
    const { config } = JSON.parse(info['info'] ?? '{}') as { config: { linux: { overhead: unknown } } };
    assert.deepEqual(config.linux.overhead, {
      cpu_period: 100000,
      cpu_quota: 10000,
      cpu_shares: 102,
      memory_limit_in_bytes: 16 * 1024 * 1024,
      ...(v2 ? { unified: { 'memory.oom.group': '1' } } : {}),
    });
    assert.match(readFileSync(asked, 'utf8'), new RegExp(`create .*${containerId(seen)}`));
    assert.equal(await ofPod(seen, 'memory', v2 ? 'memory.max' : 'memory.limit_in_bytes'), String(48 * 1024 * 1024));
    assert.equal(await ofPod(seen, 'cpu', v2 ? 'cpu.weight' : 'cpu.shares'), v2 ? '8' : '204');
  });

  test('a pod that contradicts its class is not started, and the reason is the one of the API server', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'contrary',
      runtimeClass('strict', 'second', { overhead: { podFixed: { memory: '16Mi' } } }),
      pod('contrary', { runtimeClassName: 'strict', overhead: { memory: '1Mi' } }),
    );
    await agent.explained('contrary', 'the contradiction', (now) =>
      now.timeline.some(
        ({ message }) =>
          message ===
          "Failed to create pod sandbox: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
      ),
    );
  });

  test('a RuntimeClass with an unknown handler leads to an event with the error text of the runtime', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'unknown-handler',
      runtimeClass('unknown', 'nowhere'),
      pod('unknown-handler', { runtimeClassName: 'unknown', containers: [container('main', { command: SLEEP })] }),
    );
    await agent.explained('unknown-handler', 'the handler', (now) =>
      now.timeline.some(
        ({ reason, message }) =>
          reason === 'FailedCreatePodSandBox' &&
          /no runtime for "nowhere" is configured|Unknown runtime specified nowhere/.test(message),
      ),
    );
  });

  test('an invalid object is rejected with the error texts of the API server, and its position', async () => {
    const { agent } = fixture;
    agent.writeRaw(
      'faulty.yaml',
      'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata:\n  name: faulty\n  namespace: default\nhandler: Not_A_Label\n',
    );
    let problems: string[] = [];
    const isRefused = async (): Promise<boolean> => {
      problems = await agent.problems();
      return problems.some((problem) => problem.includes('faulty.yaml:6:1:'));
    };
    await waitUntil(isRefused, 5000, 20);
    assert.ok(
      problems.some((problem) =>
        /faulty\.yaml:5:3: metadata\.namespace: RuntimeClass default\/faulty: Forbidden: not allowed on this type$/.test(
          problem,
        ),
      ),
      problems.join('\n'),
    );
    assert.ok(
      problems.some((problem) =>
        /faulty\.yaml:6:1: handler: RuntimeClass default\/faulty: Invalid value: "Not_A_Label": a lowercase RFC 1123 label/.test(
          problem,
        ),
      ),
      problems.join('\n'),
    );
    agent.removeManifest('faulty');
  });
});

describe('a restart of the agent', () => {
  test('leaves a pod of a runtime class as it is, with its overhead', async () => {
    const { agent } = fixture;
    const before = agent.pod('classed');
    await agent.restart('SIGKILL');
    const seen = await agent.ready('classed');
    assert.deepEqual(
      [containerId(seen), seen.spec.overhead, containerOf(seen).restartCount],
      [containerId(before), { cpu: '100m', memory: '16Mi' }, 0],
    );
  });
});
