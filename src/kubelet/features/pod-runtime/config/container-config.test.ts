import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { containerConfig } from './container-config.ts';
import { computePodDns, nodeResolverProblem, parseResolvConf } from './dns-config.ts';
import { resolveEnv } from './env-config.ts';
import { EnvFiles } from './env-files.ts';
import { kernelHostname, managedHostsContent } from './hosts-file.ts';
import type { NodeFacts, PodPlacement } from './node-facts.ts';
import { containerResources, oomScore } from './resources-config.ts';
import { sandboxConfig } from './sandbox-config.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { testNode, testSettings } from '../testing/harness.ts';

const placement: PodPlacement = { cgroupParent: '/kubepods/pod' };
const node: NodeFacts = { ...testNode, memoryCapacityBytes: 1000 * 2 ** 20 };

describe('environment', () => {
  const env = (container: Partial<Container>, pod: Pod = aPod()): Record<string, string> =>
    Object.fromEntries(
      resolveEnv(pod, aContainer('app', container), {
        objects: {
          configMaps: new Map([
            ['cm', { metadata: { name: 'cm', namespace: 'default', uid: '' }, data: { a: '1', b: '2' } }],
            ['none', undefined],
          ]),
          secrets: new Map([
            [
              's',
              {
                metadata: { name: 's', namespace: 'default', uid: '' },
                data: { k: Buffer.from('geheim').toString('base64') },
              },
            ],
            ['none', undefined],
          ]),
        },
        podIps: ['10.0.0.5', 'fd00::5'],
        hostIps: ['192.168.0.1'],
        allocatable: { cpu: '2', memory: '8Gi' },
        serviceEnv: new Map([['SVC', 'x']]),
        files: new EnvFiles(
          new Map([
            ['v/env', { kind: 'text', hostPath: '/pods/1/v/env', text: "A='one'\nE=''\n" }],
            ['v/broken', { kind: 'text', hostPath: '/pods/1/v/broken', text: 'A=geheim\n' }],
            ['v/gone', { kind: 'unreadable', why: 'there is no file "gone" in volume v' }],
          ]),
        ),
      }),
    );
  const field = (fieldPath: string): Partial<Container> => ({
    env: [{ name: 'F', valueFrom: { fieldRef: { fieldPath } } }],
  });
  const resource = (name: string, divisor?: string): Partial<Container> => ({
    resources: { requests: { cpu: '250m' }, limits: { memory: '1Gi' } },
    env: [{ name: 'R', valueFrom: { resourceFieldRef: { resource: name, divisor } } }],
  });

  test('expands references to earlier variables, keeps unknown ones, and unescapes', () => {
    assert.deepEqual(
      env({
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '$(A)-$(NO)-$$(A)-$(SVC)-$(' },
        ],
      }),
      { A: '1', B: '1-$(NO)-$(A)-x-$(', SVC: 'x' },
    );
  });

  test('refuses variables that double each other before they exceed what can be run', () => {
    const doubling = Array.from({ length: 60 }, (_, index) => ({
      name: `V${index + 1}`,
      value: `$(V${index})$(V${index})`,
    }));
    assert.throws(() => env({ env: [{ name: 'V0', value: 'x' }, ...doubling] }), {
      kind: 'Invalid',
      message: 'the expansion with $(V17) has more than 131072 bytes, which cannot be run',
    });
    const long = { name: 'LONG', value: 'x'.repeat(100_000) };
    assert.throws(
      () =>
        env({ env: [long, ...Array.from({ length: 100 }, (_, index) => ({ name: `V${index}`, value: '$(LONG)' }))] }),
      { kind: 'Invalid', message: /have more than 6291456 bytes/ },
    );
  });

  test('lets env win over envFrom, with prefixes', () => {
    assert.deepEqual(
      env({
        envFrom: [{ prefix: 'P_', configMapRef: { name: 'cm' } }, { secretRef: { name: 's' } }],
        env: [{ name: 'P_a', value: 'own' }],
      }),
      { P_a: 'own', P_b: '2', k: 'geheim', SVC: 'x' },
    );
  });

  test('reports missing objects in words that users know, and skips optional ones', () => {
    const key = (name: string, keyName: string, optional?: boolean): Partial<Container> => ({
      env: [{ name: 'A', valueFrom: { configMapKeyRef: { name, key: keyName, optional } } }],
    });
    const secret = (name: string, keyName: string): Partial<Container> => ({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: keyName } } }],
    });
    assert.throws(() => env(key('none', 'k')), { message: 'configmap "none" not found' });
    assert.throws(() => env(key('cm', 'k')), { message: "couldn't find key k in ConfigMap default/cm" });
    assert.throws(() => env(secret('none', 'k')), { message: 'secret "none" not found' });
    assert.throws(() => env(secret('s', 'x')), { message: "couldn't find key x in Secret default/s" });
    assert.deepEqual([env(key('none', 'k', true)), env(key('cm', 'k', true))], [{ SVC: 'x' }, { SVC: 'x' }]);
  });

  test('an optional object of envFrom, or key of a Secret, may be missing; any other may not', () => {
    const of = (optional: boolean | undefined): Partial<Container> => ({
      envFrom: [
        { configMapRef: { name: 'none', optional } },
        { secretRef: { name: 'none', optional } },
        { prefix: 'P_', configMapRef: { name: 'cm' } },
      ],
    });
    assert.deepEqual(env(of(true)), { P_a: '1', P_b: '2', SVC: 'x' });
    assert.throws(() => env(of(undefined)), { message: 'configmap "none" not found' });
    assert.throws(() => env({ envFrom: [{ secretRef: { name: 'none', optional: false } }] }), {
      message: 'secret "none" not found',
    });
    const key = (name: string): Partial<Container> => ({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'x', optional: true } } }],
    });
    assert.deepEqual([env(key('none')), env(key('s'))], [{ SVC: 'x' }, { SVC: 'x' }]);
  });

  test('a name that every JavaScript object has is a name like any other', () => {
    assert.deepEqual(env({ env: [{ name: 'A', value: '$(constructor)-$(toString)' }] }), {
      A: '$(constructor)-$(toString)',
      SVC: 'x',
    });
    assert.throws(
      () => env({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'cm', key: 'constructor' } } }] }),
      { message: "couldn't find key constructor in ConfigMap default/cm" },
    );
    assert.deepEqual(
      env({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['constructor']" } } }] }).A,
      '',
    );
  });

  test('keys of any kind become names, with and without a prefix', () => {
    const objects = {
      configMaps: new Map([
        ['cm', { metadata: { name: 'cm', namespace: 'default', uid: '' }, data: { 'a.b-c': '1', '1st': '2' } }],
      ]),
      secrets: new Map(),
    };
    const container = aContainer('app', {
      envFrom: [{ configMapRef: { name: 'cm' } }, { prefix: 'p-', configMapRef: { name: 'cm' } }],
    });
    const found = resolveEnv(aPod(), container, {
      objects,
      podIps: [],
      hostIps: [],
      allocatable: {},
      serviceEnv: new Map(),
      files: new EnvFiles(),
    });
    assert.deepEqual([...found.keys()], ['a.b-c', '1st', 'p-a.b-c', 'p-1st']);
  });

  test('bytes that are not text are refused, by name and without their content', () => {
    const objects = {
      configMaps: new Map(),
      secrets: new Map([
        ['s', { metadata: { name: 's', namespace: 'default', uid: '' }, data: { bin: '/w==', text: 'YQ==' } }],
      ]),
    };
    const of = (key: string): Map<string, string> =>
      resolveEnv(aPod(), aContainer('app', { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key } } }] }), {
        objects,
        podIps: [],
        hostIps: [],
        allocatable: {},
        serviceEnv: new Map(),
        files: new EnvFiles(),
      });
    assert.throws(() => of('bin'), {
      message: 'the value of key bin in secret "s" is not valid UTF-8 and cannot be an environment variable',
    });
    assert.equal(of('text').get('A'), 'a');
  });

  test('takes values from a file of the pod, which must exist and be valid even for an optional key', () => {
    const file = (path: string, key: string, optional?: boolean, volumeName = 'v'): Partial<Container> => ({
      env: [
        { name: 'F', valueFrom: { fileKeyRef: { volumeName, path, key, optional } } },
        { name: 'G', value: '$(F)' },
      ],
    });
    assert.deepEqual(
      [env(file('env', 'A')), env(file('env', 'B', true))],
      [
        { F: 'one', G: 'one', SVC: 'x' },
        { G: '$(F)', SVC: 'x' },
      ],
    );
    assert.throws(() => env(file('env', 'B')), {
      message: 'environment variable key "B" not found in file "/pods/1/v/env"',
    });
    assert.throws(() => env(file('env', 'E')), {
      message: 'environment variable key "E" not found in file "/pods/1/v/env"',
    });
    assert.throws(() => env(file('broken', 'A', true)), {
      message:
        "couldn't parse env file: invalid environment variable format at line 1: value must be enclosed in single quotes",
    });
    assert.throws(() => env(file('gone', 'A', true)), {
      message: 'couldn\'t parse env file: there is no file "gone" in volume v',
    });
    assert.throws(() => env(file('env', 'A', true, 'w')), {
      message: 'cannot find the volume "w" referenced by FileKeyRef',
    });
  });

  test('gives fields of the pod and its resources', () => {
    const pod = aPod(
      { nodeName: 'n', serviceAccountName: 'sa' },
      { labels: { app: 'web' }, annotations: { "a/b['c']": 'v' } },
    );
    const paths = [
      'metadata.name',
      'metadata.namespace',
      'metadata.uid',
      "metadata.labels['app']",
      'spec.nodeName',
      'spec.serviceAccountName',
      'status.podIP',
      'status.podIPs',
      'status.hostIP',
    ];
    assert.deepEqual(
      paths.map((path) => env(field(path), pod).F),
      ['web', 'default', 'uid-1', 'web', 'n', 'sa', '10.0.0.5', '10.0.0.5,fd00::5', '192.168.0.1'],
    );
    assert.throws(() => env(field('spec.nope')), { message: 'unsupported fieldPath: spec.nope' });
    const resources: [string, string?][] = [
      ['requests.cpu'],
      ['requests.cpu', '1m'],
      ['limits.cpu'],
      ['limits.memory', '1Mi'],
      ['requests.memory'],
    ];
    assert.deepEqual(
      resources.map(([name, divisor]) => env(resource(name, divisor)).R),
      ['1', '250', '2', '1024', '0'],
    );
  });
});

describe('resources', () => {
  const facts = (more: Partial<NodeFacts> = {}): Parameters<typeof containerResources>[2] => ({
    settings: testSettings,
    node: { ...node, ...more },
    placement,
  });
  test('requests default to limits, unnamed hugepages are 0, and cgroup v2 kills the container as a whole', () => {
    const container = aContainer('app', {
      resources: { limits: { cpu: '500m', memory: '64Mi', 'hugepages-2Mi': '4Mi' } },
    });
    const pod = aPod({ containers: [container] });
    assert.deepEqual(containerResources(pod, container, facts({ hugePageSizes: ['2MB', '1GB'] })), {
      cpuShares: 512,
      memoryLimitBytes: 67_108_864,
      cpuPeriod: 100_000,
      cpuQuota: 50_000,
      oomScoreAdj: 999,
      hugepageLimits: [
        { pageSize: '2MB', limitBytes: 4_194_304 },
        { pageSize: '1GB', limitBytes: 0 },
      ],
    });
    assert.deepEqual(containerResources(pod, container, facts({ cgroupVersion: 2, swapControl: true })).unified, {
      'memory.oom.group': '1',
      'memory.swap.max': '0',
    });
  });

  test('on cgroup v2 the OOM killer takes one process only where the agent is configured so', () => {
    const of = (singleProcessOomKill: boolean | undefined): unknown =>
      containerResources(aPod(), aContainer('app'), {
        ...facts({ cgroupVersion: 2 }),
        settings: { ...testSettings, singleProcessOomKill },
      }).unified?.['memory.oom.group'];
    assert.deepEqual([of(undefined), of(false), of(true)], ['1', '1', undefined]);
  });

  test('with MemoryQoS a container is protected and throttled beside its other control files', () => {
    const container = aContainer('app', { resources: { requests: { memory: '50Mi' }, limits: { memory: '100Mi' } } });
    const memoryQos = { throttlingFactor: 0.9, reservesRequests: true };
    assert.deepEqual(
      containerResources(aPod({ containers: [container] }), container, {
        ...facts({ cgroupVersion: 2, swapControl: true }),
        settings: { ...testSettings, memoryQos },
      }).unified,
      { 'memory.oom.group': '1', 'memory.swap.max': '0', 'memory.low': '52428800', 'memory.high': '99614720' },
    );
  });

  test('with LimitedSwap a burstable container has swap in proportion to its request; no other has any', () => {
    const node2 = {
      cgroupVersion: 2 as const,
      swapControl: true,
      memoryCapacityBytes: 1000 * 2 ** 20,
      swapCapacityBytes: 500 * 2 ** 20,
    };
    const swapOf = (swapBehavior: 'NoSwap' | 'LimitedSwap', resources: Container['resources']): string | undefined => {
      const container = aContainer('app', { resources });
      return containerResources(aPod({ containers: [container] }), container, {
        ...facts(node2),
        settings: { ...testSettings, swapBehavior },
      }).unified?.['memory.swap.max'];
    };
    const request = { requests: { memory: '100Mi' } };
    const alike = { limits: { cpu: '1', memory: '100Mi' }, requests: { cpu: '1', memory: '100Mi' } };
    assert.deepEqual(
      [
        swapOf('LimitedSwap', request),
        swapOf('NoSwap', request),
        swapOf('LimitedSwap', {}),
        swapOf('LimitedSwap', alike),
      ],
      [String(50 * 2 ** 20), '0', '0', '0'],
    );
  });

  test('OOM scores follow class and request, and a sidecar never dies before those it serves', () => {
    const asking = (memory: string): Container => aContainer('app', { resources: { requests: { memory } } });
    const score = (container: Container, pod: Pod): number => oomScore(pod, container, node.memoryCapacityBytes);
    const burstable = aPod({ containers: [asking('250Mi')] });
    const guaranteed = aContainer('app', {
      resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
    });
    const sidecar = aContainer('side', { restartPolicy: 'Always' });
    assert.deepEqual(
      [
        score(aContainer('app'), aPod()),
        score(guaranteed, aPod({ containers: [guaranteed] })),
        score(asking('250Mi'), burstable),
        score(asking('1000Mi'), burstable),
        score(sidecar, { ...burstable, spec: { ...burstable.spec, initContainers: [sidecar] } }),
      ],
      [1000, -997, 750, 3, 750],
    );
  });
});

describe('DNS', () => {
  const host = parseResolvConf(
    '# c\nnameserver 1.1.1.1\nnameserver 2.2.2.2\nsearch old\nsearch corp.example. .\noptions ndots:1 rotate\noptions ndots:2\n',
  );
  const dns = (spec: Partial<Pod['spec']>, clusterDns: string[] = ['10.96.0.10']): ReturnType<typeof computePodDns> =>
    computePodDns(aPod(spec), { clusterDomain: 'cluster.local', clusterDns, host, hostIps: [] });

  test('resolv.conf is parsed as the resolver parses it', () =>
    assert.deepEqual(host, {
      servers: ['1.1.1.1', '2.2.2.2'],
      searches: ['corp.example'],
      options: ['ndots:2', 'rotate'],
    }));

  test('a node whose own file exceeds the limits for any pod is reported, in upstream’s words', () => {
    const problem = (searches: string[], clusterDomain = 'cluster.local'): string | undefined =>
      nodeResolverProblem({ servers: [], searches, options: [] }, { path: '/r', clusterDomain });
    const many = (count: number, length = 2): string[] =>
      Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x'));
    assert.deepEqual(
      [problem(many(29)), problem(many(30)), problem(many(32), ''), problem(many(33), '')],
      [
        undefined,
        "Resolv.conf file '/r' contains search line consisting of more than 29 domains!",
        undefined,
        "Resolv.conf file '/r' contains search line consisting of more than 32 domains!",
      ],
    );
    assert.equal(
      problem(['x'.repeat(254)]),
      'Resolv.conf file "/r" contains a search path which length is more than allowed 253 chars!',
    );
    assert.deepEqual(
      [problem(many(9, 226)), problem(many(9, 228))],
      [undefined, "Resolv.conf file '/r' contains search line which length is more than allowed 2048 chars!"],
    );
  });

  test('each policy has its base, and dnsConfig goes on top', () => {
    const cluster = {
      servers: ['10.96.0.10'],
      searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example'],
      options: ['ndots:5'],
    };
    assert.deepEqual(
      [
        dns({}).dns,
        dns({ dnsPolicy: 'Default' }).dns,
        dns({ hostNetwork: true }).dns,
        dns({ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }).dns,
        dns({ dnsPolicy: 'None', dnsConfig: { nameservers: ['9.9.9.9'], options: [{ name: 'ndots', value: '3' }] } })
          .dns,
      ],
      [cluster, host, host, cluster, { servers: ['9.9.9.9'], searches: [], options: ['ndots:3'] }],
    );
  });

  test('reports a cluster without DNS and values that limits cut off', () => {
    assert.deepEqual(
      dns({}, []).remarks.map(({ about, reason }) => `${about} ${reason}`),
      ['node MissingClusterDNS', 'pod MissingClusterDNS'],
    );
    const cut = dns({
      dnsConfig: { nameservers: ['a', 'b', 'c'], searches: Array.from({ length: 40 }, (_, index) => `s${index}`) },
    });
    assert.deepEqual(
      [cut.dns.servers.length, cut.dns.searches.length, cut.remarks.map(({ reason }) => reason)],
      [3, 32, ['DNSConfigForming', 'DNSConfigForming']],
    );
  });
});

describe('names', () => {
  test('host name, domain and /etc/hosts', () => {
    const pod = aPod({
      hostname: 'h',
      subdomain: 'sub',
      setHostnameAsFQDN: true,
      hostAliases: [{ ip: '1.2.3.4', hostnames: ['a', 'b'] }],
    });
    assert.equal(kernelHostname(pod, 'cluster.local'), 'h.sub.default.svc.cluster.local');
    assert.match(
      managedHostsContent(pod, ['10.0.0.5'], 'cluster.local'),
      /\n10\.0\.0\.5\th\.sub\.default\.svc\.cluster\.local\th\n\n# Entries added by HostAliases\.\n1\.2\.3\.4\ta\tb\n$/,
    );
    assert.equal(kernelHostname(aPod({}, { name: `${'x'.repeat(62)}-yz` }), 'c'), 'x'.repeat(62));
  });

  test('a sandbox carries identity, ports once, and sysctls with dots', () => {
    const port = { containerPort: 80, hostPort: 8080 };
    const pod = aPod(
      {
        containers: [aContainer('app', { ports: [port, port] })],
        securityContext: { sysctls: [{ name: 'net/ipv4/ip_forward', value: '1' }] },
      },
      { labels: { app: 'web' } },
    );
    const config = sandboxConfig(pod, 2, {
      settings: testSettings,
      node,
      placement,
      dns: { servers: [], searches: [], options: [] },
    });
    assert.deepEqual(
      [config.attempt, config.hostname, config.logDirectory, config.portMappings, config.sysctls, config.labels],
      [
        2,
        'web',
        '/var/log/pods/default_web_uid-1',
        [{ protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' }],
        { 'net.ipv4.ip_forward': '1' },
        {
          app: 'web',
          'io.kubernetes.pod.name': 'web',
          'io.kubernetes.pod.namespace': 'default',
          'io.kubernetes.pod.uid': 'uid-1',
        },
      ],
    );
  });

  test('a custom stop signal goes to the runtime only with the feature gate', () => {
    const container = aContainer('app', { lifecycle: { stopSignal: 'SIGUSR1' } });
    const signalWith = (stopSignals: boolean): string | undefined =>
      containerConfig(aPod(), container, {
        settings: { ...testSettings, stopSignals },
        node,
        placement,
        attempt: 0,
        imageRef: 'sha256:1',
        imageUser: { username: '' },
        runtimeHandler: '',
        env: new Map(),
        mounts: [],
      }).stopSignal;
    assert.deepEqual([signalWith(true), signalWith(false)], ['SIGUSR1', undefined]);
  });

  test('a container carries what a later agent needs to check and to kill it', () => {
    const preStop = { exec: { command: ['x'] } };
    const container = aContainer('app', { command: ['echo', '$(A)'], lifecycle: { preStop } });
    const config = containerConfig(aPod(), container, {
      settings: testSettings,
      node,
      placement,
      attempt: 3,
      imageRef: 'sha256:1',
      imageUser: { username: '' },
      runtimeHandler: '',
      env: new Map([['A', 'v']]),
      mounts: [],
    });
    assert.deepEqual(
      [config.command, config.logPath, config.image],
      [['echo', 'v'], 'app/3.log', { image: 'sha256:1', userSpecifiedImage: 'app:1', runtimeHandler: '' }],
    );
    assert.deepEqual(config.annotations, {
      'io.kubernetes.container.hash': config.annotations['io.kubernetes.container.hash'],
      'io.kubernetes.container.restartCount': '3',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.terminationGracePeriod': '30',
      'io.kubernetes.container.preStopHandler': JSON.stringify(preStop),
    });
  });
});
