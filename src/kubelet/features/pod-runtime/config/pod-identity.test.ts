import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';
import { computePodDns } from './dns-config.ts';
import { hostNetworkHostsContent, kernelHostname, managedHostsContent } from './hosts-file.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { Harness, testSettings } from '../testing/harness.ts';

const eventsWith = (h: Harness, reason: string): string[] => h.events.filter((event) => event.includes(` ${reason} `));
const envOf = (h: Harness, name: string): string | undefined =>
  h.runtime.container('uid-1', 'app')?.config.envs.find(({ key }) => key === name)?.value;

describe('names of a pod', () => {
  const names = (spec: Partial<Pod['spec']>, name = 'web'): string =>
    kernelHostname(aPod(spec, { name }), 'cluster.local');

  test('an override is the whole name, cut where the kernel would', () => {
    assert.deepEqual(
      [
        names({ hostnameOverride: 'a.b.example', hostname: 'h', subdomain: 's' }),
        names({ hostnameOverride: `${'x'.repeat(62)}.y` }),
      ],
      ['a.b.example', 'x'.repeat(62)],
    );
    assert.throws(
      () => names({ hostnameOverride: 'A_b' }),
      /^KubeletError: pod HostnameOverride "A_b" is not a valid DNS subdomain: a lowercase RFC 1123 subdomain must consist/,
    );
  });

  test('an invalid name is refused with the reason', () => {
    assert.throws(() => names({ hostname: 'a.b' }), {
      message: 'pod Hostname "a.b" is not a valid DNS label: must not contain dots',
    });
    assert.throws(
      () => names({ subdomain: 'A' }),
      /pod Subdomain "A" is not a valid DNS label: a lowercase RFC 1123 label must consist/,
    );
  });

  test('the full name is used when asked for and short enough', async () => {
    const spec = { subdomain: 'sub', setHostnameAsFQDN: true };
    assert.equal(names(spec, 'x'.repeat(30)), `${'x'.repeat(30)}.sub.default.svc.cluster.local`);
    const h = new Harness();
    await h.sync(aPod(spec, { name: 'y'.repeat(36) }));
    assert.deepEqual(eventsWith(h, 'FailedCreatePodSandBox'), [
      `Warning FailedCreatePodSandBox Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN ${'y'.repeat(36)}.sub.default.svc.cluster.local is too long (64 characters is the max, 66 characters requested)`,
    ]);
  });
});

describe('/etc/hosts', () => {
  test('names the pod by each of its addresses', () => {
    assert.match(
      managedHostsContent(aPod({ hostnameOverride: 'full.example' }), ['10.0.0.5', 'fd00::5'], 'cluster.local'),
      /^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n[^]*\nfe00::2\tip6-allrouters\n10\.0\.0\.5\tfull\.example\nfd00::5\tfull\.example\n$/,
    );
  });

  test('on the host network is that of the host, with the aliases', () => {
    assert.equal(
      hostNetworkHostsContent(aPod({ hostAliases: [{ ip: '1.1.1.1', hostnames: ['a'] }] }), '127.0.0.1 here\n'),
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 here\n\n# Entries added by HostAliases.\n1.1.1.1\ta\n',
    );
  });

  test('is also written for a pod on the host network, and not over one the container brings', async () => {
    const h = new Harness();
    h.files.seed({ '/etc/hosts': '127.0.0.1 node\n' });
    await h.sync(aPod({ hostNetwork: true }));
    assert.equal(
      h.files.peek('/var/lib/kubelet/pods/uid-1/etc-hosts'),
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 node\n',
    );
    const own = new Harness();
    own.volumes = async () => new Map([['v', { name: 'v', hostPath: '/v', readOnly: false, selinuxRelabel: false }]]);
    own.files.seed({ '/v/x': '' });
    await own.sync(
      aPod({
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [aContainer('app', { volumeMounts: [{ name: 'v', mountPath: '/etc/hosts' }] })],
      }),
    );
    assert.deepEqual(
      own.runtime.container('uid-1', 'app')?.config.mounts.map(({ containerPath }) => containerPath),
      ['/etc/hosts', '/dev/termination-log'],
    );
    assert.equal(own.files.peek('/var/lib/kubelet/pods/uid-1/etc-hosts'), undefined);
  });
});

describe('name resolution', () => {
  const long = (length: number): string =>
    Array.from({ length: Math.ceil(length / 50) }, () => 'x'.repeat(49))
      .join('.')
      .slice(0, length);
  const settings = {
    clusterDomain: 'c.l',
    clusterDns: ['10.0.0.10'],
    host: { servers: ['1.1.1.1'], searches: ['h'], options: [] },
    hostIps: ['192.168.0.1'],
  };
  const remarks = (dnsConfig: Pod['spec']['dnsConfig']): string[] =>
    computePodDns(aPod({ dnsPolicy: 'None', dnsConfig }), settings).remarks.map(
      ({ reason, message }) => `${reason} ${message}`,
    );

  test('entries beyond the limits are reported, with the remaining line', () => {
    assert.deepEqual(remarks({ nameservers: ['1', '2', '3', '4'] }), [
      'DNSConfigForming Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1 2 3',
    ]);
    assert.deepEqual(remarks({ searches: ['a', long(254), 'b'] }), [
      'DNSConfigForming Search Line limits were exceeded, some search paths have been omitted, the applied search line is: a b',
    ]);
    const nine = Array.from({ length: 9 }, (_, index) => `${index}${long(239)}`);
    assert.equal(remarks({ searches: nine })[0]?.endsWith(` ${nine[7]}`), true);
    assert.deepEqual(remarks({ searches: nine.slice(0, 8) }), []);
  });

  test('a pod that must do without cluster DNS gets one event per sandbox, and so does the node', async () => {
    const why =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    const h = new Harness({ settings: { ...testSettings, clusterDns: [] } });
    h.runtime.fail('runSandbox', { kind: 'Invalid', message: 'no', times: 1 });
    await h.sync(aPod());
    await h.sync(aPod());
    h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
    await h.sync(aPod());
    assert.deepEqual(
      [eventsWith(h, 'MissingClusterDNS'), h.containers.length],
      [[`Warning MissingClusterDNS ${why} [node]`, `Warning MissingClusterDNS pod: "web_default(uid-1)". ${why}`], 2],
    );
  });
});

describe('runtime classes', () => {
  test('a class that does not exist keeps the sandbox from being created, in the words of upstream, until it does', async () => {
    let handler = '';
    const lookup = async (pod: Pod): Promise<string> => {
      if (handler === '')
        throw new KubeletError('NotFound', `runtimeclass.node.k8s.io "${pod.spec.runtimeClassName}" not found`);
      return handler;
    };
    const h = new Harness({ handlers: { lookup } });
    const pod = aPod({ runtimeClassName: 'small' });
    await h.sync(pod);
    assert.deepEqual(
      [eventsWith(h, 'FailedCreatePodSandBox'), h.containers],
      [['Warning FailedCreatePodSandBox Failed to create pod sandbox: runtimeclass.node.k8s.io "small" not found'], []],
    );
    handler = 'runc-small';
    await h.sync(pod);
    assert.deepEqual(
      [h.containers, h.runtime.sandboxes().map((sandbox) => sandbox.runtimeHandler)],
      [['app#0 running'], ['runc-small']],
    );
    // A class that is removed keeps no container of the sandbox from starting again.
    handler = '';
    h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
    await h.sync(pod);
    assert.deepEqual(
      [h.containers, h.runtime.container('uid-1', 'app')?.config.image.runtimeHandler],
      [['app#0 137', 'app#1 running'], 'runc-small'],
    );
  });
});

describe('environment from outside the pod', () => {
  const service = {
    metadata: { name: 's', namespace: 'default', uid: '' },
    spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }] },
  };

  test('services come last: env and envFrom override them, and env may refer to them', async () => {
    const h = new Harness();
    h.services = () => [service];
    await h.sync(
      aPod({
        containers: [
          aContainer('app', {
            env: [
              { name: 'S_PORT', value: 'own' },
              { name: 'URL', value: 'http://$(S_SERVICE_HOST)/' },
            ],
          }),
        ],
      }),
    );
    assert.deepEqual(
      [envOf(h, 'S_PORT'), envOf(h, 'URL'), envOf(h, 'S_SERVICE_PORT')],
      ['own', 'http://10.0.0.1/', '80'],
    );
  });

  test('a pod of the API server waits for services to be known', async () => {
    const h = new Harness();
    const pod = aPod({}, { annotations: { 'kubernetes.io/config.source': 'api' } });
    h.services = () => Promise.reject(new KubeletError('Unavailable', 'not yet'));
    const outcome = await h.sync(pod);
    assert.deepEqual(
      outcome.failures.map(({ reason, message }) => `${reason} ${message}`),
      ['CreateContainerConfigError services have not yet been read at least once, cannot construct envvars'],
    );
    h.services = () => [];
    await h.sync(pod);
    assert.deepEqual(h.containers, ['app#0 running']);
  });

  test('a file of the pod is read when the container starts, and a link out of the volume is not followed', async () => {
    const pod = aPod({
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        aContainer('app', {
          env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'd/env', key: 'A' } } }],
        }),
      ],
    });
    const h = new Harness();
    h.volumes = async () => new Map([['v', { name: 'v', hostPath: '/vol', readOnly: false, selinuxRelabel: false }]]);
    h.files.seed({ '/vol/d/env': "A='from a file'\n", '/secret': "A='of the host'\n" });
    await h.sync(pod);
    assert.equal(envOf(h, 'A'), 'from a file');
    const attacked = new Harness();
    attacked.volumes = h.volumes;
    attacked.files.seed({ '/vol/d/x': '', '/secret': "A='of the host'\n" });
    await attacked.files.symlink('../../secret', '/vol/d/env');
    const outcome = await attacked.sync(pod);
    assert.deepEqual(
      [outcome.failures.map(({ message }) => message), attacked.containers],
      [['couldn\'t parse env file: there is no file "d/env" in volume v'], []],
    );
  });

  test('on the host network a pod gets the addresses of the host as its own', async () => {
    const h = new Harness();
    h.files.seed({ '/etc/hosts': '' });
    await h.sync(
      aPod({
        hostNetwork: true,
        containers: [
          aContainer('app', { env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] }),
        ],
      }),
    );
    assert.equal(envOf(h, 'IP'), '192.168.0.1');
  });
});
