import assert from 'node:assert/strict';
import test from 'node:test';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { RulesFixture } from './testing/rules-fixture.ts';

const labels = { app: 'agent' };
const podSpec = { containers: [{ name: 'agent', image: 'agent:1' }] };
const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } };

const pods = new RulesFixture('v1', 'Pod', { spec: podSpec });
const owners: readonly (readonly [string, RulesFixture])[] = [
  ['Deployment', new RulesFixture('apps/v1', 'Deployment', { spec })],
  ['ReplicaSet', new RulesFixture('apps/v1', 'ReplicaSet', { spec })],
  ['DaemonSet', new RulesFixture('apps/v1', 'DaemonSet', { spec })],
  [
    'Job',
    new RulesFixture('batch/v1', 'Job', {
      spec: {
        ...spec,
        manualSelector: true,
        template: { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Never' } },
      },
    }),
  ],
];
const inTemplate = (changes: Changes): Changes =>
  Object.fromEntries(Object.entries(changes).map(([path, value]) => [`spec.template.${path}`, value]));

for (const [name, owner] of owners) {
  test(`a template of a ${name} on the host's network names ports of containers alone, but no other ports of the host`, () => {
    const onHost = (hostPort: number | undefined): Changes =>
      inTemplate({
        'spec.hostNetwork': true,
        'spec.containers[0].ports': [{ containerPort: 7472, ...(hostPort !== undefined && { hostPort }) }],
      });
    assert.deepEqual(
      [owner.refusals(onHost(undefined)), owner.refusals(onHost(7472)), owner.updateRefusals({}, onHost(undefined))],
      [[], [], []],
    );
    assert.deepEqual(owner.refusals(onHost(80)), [
      'spec.template.spec.containers[0].ports[0].hostPort: Invalid value: 80: must match `containerPort` when `hostNetwork` is true',
    ]);
  });

  test(`a template of a ${name} may leave the image of an image volume open`, () => {
    assert.deepEqual(owner.refusals(inTemplate({ 'spec.volumes': [{ name: 'model', image: {} }] })), []);
  });

  test(`a name in a template of a ${name} is no name of its pods`, () => {
    const volume = (name: string): object => ({
      name,
      ephemeral: {
        volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
      },
    });
    const changes = {
      'metadata.name': 'no_name',
      'spec.volumes': [volume('data'), { name: 'other', persistentVolumeClaim: { claimName: 'no_name-data' } }],
    };
    assert.deepEqual(owner.refusals(inTemplate(changes)), []);
  });
}

test('a pod has its ports of the host filled in, and must name the image of an image volume', () => {
  const pod = pods.created({ 'spec.hostNetwork': true, 'spec.containers[0].ports': [{ containerPort: 7472 }] }) as {
    spec?: { containers: { ports: object[] }[] };
  };
  assert.deepEqual(pod.spec?.containers[0]?.ports, [{ containerPort: 7472, hostPort: 7472, protocol: 'TCP' }]);
  assert.deepEqual(pods.refusals({ 'spec.volumes': [{ name: 'model', image: {} }] }), [
    'spec.volumes[0].image.reference: Required value',
  ]);
});

test('where the cluster has no privileged containers, no pod or template may have one, not even an old one', () => {
  const strict = { allowPrivileged: false };
  const privileged = { securityContext: { privileged: true } };
  const refusal = (at: string): string[] => [
    `${at}.securityContext.privileged: Forbidden: disallowed by cluster policy`,
  ];
  const strictPods = new RulesFixture('v1', 'Pod', { spec: podSpec }, strict);
  const strictSets = new RulesFixture('apps/v1', 'DaemonSet', { spec }, strict);
  const main = { 'spec.containers[0].securityContext': { privileged: true } };
  assert.deepEqual(
    [
      strictPods.refusals(),
      strictPods.refusals({ 'spec.containers[0].securityContext': { privileged: false } }),
      pods.refusals(main),
    ],
    [[], [], []],
  );
  assert.deepEqual(strictPods.refusals(main), refusal('spec.containers[0]'));
  assert.deepEqual(
    strictPods.refusals({ 'spec.initContainers': [{ name: 'init', image: 'x', ...privileged }] }),
    refusal('spec.initContainers[0]'),
  );
  assert.deepEqual(strictSets.refusals(inTemplate(main)), refusal('spec.template.spec.containers[0]'));
  // Upstream makes no exception for existing objects: they can be deleted, but not written.
  assert.deepEqual(
    strictPods.updateRefusals({ 'metadata.labels.touched': 'yes' }, main),
    refusal('spec.containers[0]'),
  );
  assert.deepEqual(
    strictPods.updateRefusals({ 'spec.ephemeralContainers': [{ name: 'debug', image: 'x', ...privileged }] })[0],
    refusal('spec.ephemeralContainers[0]')[0],
  );
  assert.deepEqual(
    strictPods.statusRefusals({ phase: 'Running', qosClass: 'BestEffort' }, { qosClass: 'BestEffort' }, main),
    [],
  );
});

test('where the cluster has no privileged containers, no Windows pod runs as a process of the host', () => {
  const strictPods = new RulesFixture('v1', 'Pod', { spec: podSpec }, { allowPrivileged: false });
  const changes = {
    'spec.hostNetwork': true,
    'spec.securityContext': { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } },
  };
  assert.deepEqual(
    [pods.refusals(changes), strictPods.refusals(changes)],
    [[], ['spec: Forbidden: hostProcess containers are disallowed by cluster policy']],
  );
});
