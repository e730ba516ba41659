// The environment of a container: variables, volumes, user and privileges, cgroup, network, files that the agent
// writes.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { freePort } from '../../src/up/agent.ts';
import { WEB_USER_IMAGE } from '../../src/up/images/catalogue.ts';
import { podName } from './support/agent.ts';
import { configMap, container, pod, secret, shell, thenSleep } from './support/manifests.ts';
import { waitUntil } from './support/patience.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'around', agent: { config: { clusterDomain: 'cluster.local' } } });
const folder = mkdtempSync(join(tmpdir(), 'kts-around-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('environment', SIDE_BY_SIDE, () => {
  test('variables come from ConfigMaps, Secrets, the pod, the resources and each other', async () => {
    const { agent } = fixture;
    const env = [
      { name: 'PLAIN', value: 'p' },
      { name: 'FROM_MAP', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } },
      { name: 'FROM_SECRET', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
      { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } },
      { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
      { name: 'JOINED', value: '$(PLAIN)-$(FROM_MAP)-$$(PLAIN)' },
      { name: 'MISSING', valueFrom: { configMapKeyRef: { name: 'nowhere', key: 'x', optional: true } } },
    ];
    const main = container('main', {
      env,
      envFrom: [{ prefix: 'ALL_', configMapRef: { name: 'settings' } }],
      resources: { limits: { memory: '64Mi' } },
    });
    const seen = await agent.run(
      pod('env', { containers: [main] }, { labels: { tier: 'back' } }),
      configMap('settings', { colour: 'green', size: 'xl' }),
      secret('keys', { token: 's3cret' }),
    );
    const printed = await agent.inside(
      'env',
      'echo "$PLAIN|$FROM_MAP|$FROM_SECRET|$POD|$IP|$LABEL|$MEMORY|$JOINED|${MISSING-unset}|$ALL_size"',
    );
    assert.equal(printed, `p|green|s3cret|${podName('env')}|${seen.status?.podIP}|back|64|p-green-$(PLAIN)|unset|xl`);
  });

  test('a container waits for a missing ConfigMap, reports it, and starts when the ConfigMap exists', async () => {
    const { agent } = fixture;
    const env = [{ name: 'LATE', valueFrom: { configMapKeyRef: { name: 'late', key: 'k' } } }];
    agent.writeManifest('late', pod('late', { containers: [container('main', { env })] }));
    const waiting = await agent.waitFor(
      'late',
      'held back',
      (seen) => containerOf(seen).state?.waiting?.reason === 'CreateContainerConfigError',
    );
    assert.match(containerOf(waiting).state?.waiting?.message ?? '', /configmap "late" not found/);
    const { blockers } = await agent.explained('late', 'the missing map', (now) => now.blockers.length > 0);
    assert.match(JSON.stringify(blockers), /late/);
    agent.writeManifest('late-map', configMap('late', { k: 'here' }));
    await agent.ready('late', 15_000);
    assert.equal(await agent.inside('late', 'echo $LATE'), 'here');
  });

  test('the image names command, arguments and folder unless the pod does', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'image-command',
      pod('image-command', {
        containers: [
          container('web', {
            command: undefined,
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          }),
          container('main', {
            workingDir: '/tmp',
            command: ['sh', '-c'],
            args: ['pwd > /out; trap "exit 0" TERM; sleep 1000 & wait'],
          }),
        ],
      }),
    );
    await agent.ready('image-command');
    assert.equal(await agent.inside('image-command', 'cat /out', 'main'), '/tmp');
  });
});

describe('user and rights', SIDE_BY_SIDE, () => {
  test('runs as the user and groups the pod names', async () => {
    const { agent } = fixture;
    const securityContext = { runAsUser: 1234, runAsGroup: 2345, supplementalGroups: [3456], fsGroup: 4567 };
    await agent.run(
      pod('as-user', {
        securityContext,
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    assert.equal(
      await agent.inside('as-user', 'id -u; id -g; id -G; stat -c %g /v; touch /v/ok && echo written'),
      '1234\n2345\n2345 3456 4567\n4567\nwritten',
    );
  });

  test('runAsNonRoot refuses an image that runs as root and takes one that does not', async () => {
    const { agent } = fixture;
    const securityContext = { runAsNonRoot: true };
    agent.writeManifest('nonroot', pod('nonroot', { securityContext }));
    const refused = await agent.waitFor(
      'nonroot',
      'refused',
      (seen) => containerOf(seen).state?.waiting?.reason === 'CreateContainerConfigError',
    );
    assert.match(
      containerOf(refused).state?.waiting?.message ?? '',
      /container has runAsNonRoot and image will run as root/,
    );
    agent.writeManifest(
      'named-user',
      pod('named-user', { securityContext, containers: [container('main', { image: WEB_USER_IMAGE })] }),
    );
    const named = await agent.waitFor(
      'named-user',
      'refused',
      (seen) => containerOf(seen).state?.waiting?.reason === 'CreateContainerConfigError',
    );
    assert.match(
      containerOf(named).state?.waiting?.message ?? '',
      /container has runAsNonRoot and image has non-numeric user \(web\), cannot verify user is non-root/,
    );
    await agent.run(pod('nonroot-ok', { securityContext: { ...securityContext, runAsUser: 1000 } }));
    await agent.remove('nonroot', 'named-user', 'nonroot-ok');
  });

  test('read-only root, dropped and added capabilities, no new privileges', async () => {
    const { agent } = fixture;
    const securityContext = {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    };
    await agent.run(pod('confined', { containers: [container('main', { securityContext }), container('free')] }));
    assert.match(await agent.inside('confined', 'touch /x 2>&1 || true', 'main'), /Read-only file system/);
    assert.equal(await agent.inside('confined', 'touch /x && echo ok', 'free'), 'ok');
    const caps = (text: string): bigint => BigInt(`0x${/CapEff:\s*(\w+)/.exec(text)?.[1]}`);
    const status = await agent.inside('confined', 'cat /proc/1/status', 'main');
    assert.equal(caps(status), 1n << 10n);
    assert.match(status, /NoNewPrivs:\s*1/);
    assert.ok((caps(await agent.inside('confined', 'cat /proc/1/status', 'free')) & 1n) === 1n);
  });

  test('the namespaces of the host and of the pod are shared as asked', async () => {
    const { agent } = fixture;
    await agent.run(pod('hostns', { hostPID: true, hostIPC: true, hostNetwork: true }));
    const link = async (kind: string): Promise<string> => agent.inside('hostns', `readlink /proc/self/ns/${kind}`);
    for (const kind of ['pid', 'ipc', 'net'])
      assert.equal(await link(kind), readlinkSync(`/proc/self/ns/${kind}`), kind);
    assert.ok(
      (agent.pod('hostns').status?.podIP ?? '') !== '' &&
        agent.pod('hostns').status?.podIP === agent.pod('hostns').status?.hostIP,
    );
    await agent.run(
      pod('shared-pid', {
        shareProcessNamespace: true,
        containers: [
          container('main'),
          container('other', { command: thenSleep('exec -a marker sleep 5000 2>/dev/null || sleep 4321 &') }),
        ],
      }),
    );
    assert.equal(
      await agent.inside('shared-pid', 'readlink /proc/self/ns/pid', 'main'),
      await agent.inside('shared-pid', 'readlink /proc/self/ns/pid', 'other'),
    );
  });
});

describe('resources', SIDE_BY_SIDE, () => {
  const v2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  /** The cgroup of a process for each controller. */
  const groupOf = (pid: number, controller: string): string => {
    const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
      .split('\n')
      .find((candidate) =>
        v2 ? candidate.startsWith('0::') : candidate.split(':')[1]?.split(',').includes(controller),
      );
    return join('/sys/fs/cgroup', v2 ? '' : controller, line?.split(':')[2] ?? '');
  };
  const pidOf = async (seen: Pod): Promise<number> => {
    const { info } = await fixture.containerd.cri.runtime.containerStatus({
      containerId: containerId(seen),
      verbose: true,
    });
    return (JSON.parse(info['info'] ?? '{}') as { pid: number }).pid;
  };
  const read = (path: string): string => readFileSync(path, 'utf8').trim();

  test("requests and limits stand in the container's and the pod's groups, and the pod's are gone with it", async () => {
    const { agent, containerd } = fixture;
    const resources = { requests: { cpu: '250m', memory: '32Mi' }, limits: { cpu: '500m', memory: '64Mi' } };
    const seen = await agent.run(pod('limits', { containers: [container('main', { resources })] }));
    assert.equal(seen.status?.qosClass, 'Burstable');
    const pid = await pidOf(seen);
    const [cpu, memory] = [groupOf(pid, 'cpu'), groupOf(pid, 'memory')];
    const facts = v2
      ? {
          weight: read(join(cpu, 'cpu.weight')),
          quota: read(join(cpu, 'cpu.max')),
          memory: read(join(memory, 'memory.max')),
        }
      : {
          weight: read(join(cpu, 'cpu.shares')),
          quota: `${read(join(cpu, 'cpu.cfs_quota_us'))} ${read(join(cpu, 'cpu.cfs_period_us'))}`,
          memory: read(join(memory, 'memory.limit_in_bytes')),
        };
    assert.deepEqual(facts, { weight: v2 ? '10' : '256', quota: '50000 100000', memory: String(64 * 1024 * 1024) });
    const podGroup = join(memory, '..');
    assert.ok(podGroup.endsWith(containerd.cgroupPath(`kubepods/burstable/pod${seen.metadata.uid}`)), podGroup);
    assert.equal(read(join(podGroup, v2 ? 'memory.max' : 'memory.limit_in_bytes')), String(64 * 1024 * 1024));
    const podCpu = join(cpu, '..');
    assert.equal(read(join(podCpu, v2 ? 'cpu.weight' : 'cpu.shares')), v2 ? '10' : '256');
    await agent.remove('limits');
    assert.ok(
      await waitUntil(() => !existsSync(podGroup) && !existsSync(podCpu), 5000),
      'the pod group is still there',
    );
  });

  test('a pod without requests is BestEffort with the least share, one with equal limits is Guaranteed', async () => {
    const { agent, containerd } = fixture;
    const best = await agent.run(pod('best-effort'));
    assert.equal(best.status?.qosClass, 'BestEffort');
    const group = groupOf(await pidOf(best), 'cpu');
    assert.ok(group.includes(containerd.cgroupPath(`kubepods/besteffort/pod${best.metadata.uid}`)), group);
    assert.equal(read(join(group, v2 ? 'cpu.weight' : 'cpu.shares')), v2 ? '1' : '2');
    const guaranteed = await agent.run(
      pod('guaranteed', {
        containers: [container('main', { resources: { limits: { cpu: '100m', memory: '32Mi' } } })],
      }),
    );
    assert.equal(guaranteed.status?.qosClass, 'Guaranteed');
    const guaranteedGroup = groupOf(await pidOf(guaranteed), 'memory');
    assert.ok(
      guaranteedGroup.includes(containerd.cgroupPath(`kubepods/pod${guaranteed.metadata.uid}`)),
      guaranteedGroup,
    );
  });

  test('a container over its memory limit is OOMKilled, and reported so', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'oom',
      pod('oom', {
        restartPolicy: 'Never',
        containers: [
          container('main', { resources: { limits: { memory: '16Mi' } }, command: shell('sleep 0.3; tail /dev/zero') }),
        ],
      }),
    );
    // The exit may be reported before the kernel's reason for it, which containerd receives separately. The end of the
    // pod is reported only after the current pass has ended.
    const seen = await agent.waitFor(
      'oom',
      'OOMKilled',
      (now) => containerOf(now).state?.terminated?.reason === 'OOMKilled' && now.status?.phase !== 'Running',
    );
    assert.deepEqual([containerOf(seen).state?.terminated?.exitCode, seen.status?.phase], [137, 'Failed']);
    await agent.remove('oom');
  });
});

describe('network and files', SIDE_BY_SIDE, () => {
  test('hostname, /etc/hosts and resolv.conf are those of the pod', async () => {
    const { agent } = fixture;
    const spec = {
      hostname: 'mail',
      subdomain: 'office',
      hostAliases: [{ ip: '10.1.2.3', hostnames: ['printer'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.9.8.7'], searches: ['example.test'], options: [{ name: 'ndots', value: '2' }] },
    };
    const seen = await agent.run(pod('names', spec));
    assert.equal(await agent.inside('names', 'hostname'), 'mail');
    const hosts = await agent.inside('names', 'cat /etc/hosts');
    assert.match(
      hosts,
      new RegExp(`^${seen.status?.podIP}\\s+mail\\.office\\.default\\.svc\\.cluster\\.local\\s+mail$`, 'm'),
    );
    assert.match(hosts, /^10\.1\.2\.3\s+printer$/m);
    assert.equal(
      await agent.inside('names', 'cat /etc/resolv.conf'),
      'search example.test\nnameserver 10.9.8.7\noptions ndots:2',
    );
  });

  test('a pod on the host network has its name and its hosts', async () => {
    const { agent } = fixture;
    await agent.run(pod('host-network', { hostNetwork: true }));
    assert.equal(await agent.inside('host-network', 'hostname'), hostname());
    assert.equal(
      await agent.inside('host-network', 'cat /etc/hosts | grep -v "^#"'),
      readFileSync('/etc/hosts', 'utf8').trim(),
    );
  });

  test('pods reach each other, and a host port leads to its pod', async () => {
    const { agent } = fixture;
    const hostPort = await freePort(0);
    const web = await agent.run(
      pod('web', {
        containers: [
          container('main', {
            command: thenSleep('echo hello > /www/index.html; httpd -p 8080 -h /www'),
            ports: [{ containerPort: 8080, hostPort }],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          }),
        ],
      }),
    );
    await agent.run(pod('client'));
    // The static busybox's wget cannot resolve names without crashing, so HTTP is spoken by hand.
    assert.match(
      await agent.inside('client', `printf "GET / HTTP/1.0\\r\\n\\r\\n" | nc -w 5 ${web.status?.podIP} 8080`),
      /hello$/,
    );
    assert.equal((await (await fetch(`http://${web.status?.hostIP}:${hostPort}/`)).text()).trim(), 'hello');
    await agent.remove('web');
    await assert.rejects(fetch(`http://${web.status?.hostIP}:${hostPort}/`, { signal: AbortSignal.timeout(3000) }));
  });

  test('the termination message comes from its file, or with FallbackToLogsOnError from the log of a failed container', async () => {
    const { agent } = fixture;
    const main = container('main', { command: shell('echo noise; printf "the end" > /dev/termination-log; exit 3') });
    const logs = container('logs', {
      terminationMessagePolicy: 'FallbackToLogsOnError',
      command: shell('echo first; echo last words; exit 4'),
    });
    const quiet = container('quiet', {
      terminationMessagePolicy: 'FallbackToLogsOnError',
      command: shell('echo all is well'),
    });
    agent.writeManifest('message', pod('message', { restartPolicy: 'Never', containers: [main, logs, quiet] }));
    await agent.phase('message', 'Failed');
    // The end of a container is never visible without its termination message.
    const ends = agent.watch.history
      .filter(({ pod: now }) => now.metadata.name.startsWith('message-'))
      .flatMap(({ pod: now }) => now.status?.containerStatuses ?? []);
    const messages = (name: string): unknown[] => [
      ...new Set(
        ends
          .filter((status) => status.name === name && status.state?.terminated !== undefined)
          .map((status) => status.state?.terminated?.message),
      ),
    ];
    assert.deepEqual(
      [messages('main'), messages('logs'), messages('quiet')],
      [['the end'], ['first\nlast words\n'], [undefined]],
    );
    assert.match(agent.output('message'), /noise/);
    await agent.remove('message');
  });
});
