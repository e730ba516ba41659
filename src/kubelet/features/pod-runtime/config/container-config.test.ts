import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { containerConfig } from './container-config.ts';
import { kernelHostname, managedHostsContent } from './hosts-file.ts';
import type { NodeFacts, PodPlacement } from './node-facts.ts';
import { sandboxConfig } from './sandbox-config.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { testNode, testSettings } from '../testing/harness.ts';

const placement: PodPlacement = { cgroupParent: '/kubepods/pod' };
const node: NodeFacts = { ...testNode, memoryCapacityBytes: 1000 * 2 ** 20 };

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
