import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../testing/pod-builder.ts';
import type { Changes } from '../../testing/pod-builder.ts';
import { podWarnings } from './pod-warnings.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { validatePod } from './validate-pod.ts';

const c0 = 'spec.containers[0]';
const v0 = 'spec.volumes[0]';
const vol = (source: object): Changes => ({ 'spec.volumes': [{ name: 'v', ...source }] });
const item = (path: string) => ({ key: 'k', path });

const cases: readonly (readonly [Changes, ...string[]])[] = [
  [{}],
  [
    { [`${c0}.resources`]: { limits: { memory: '100m', 'ephemeral-storage': '1500m' } } },
    ...['limits', 'requests'].flatMap((which) => [
      `${c0}.resources.${which}[memory]: fractional byte value "100m" is invalid, must be an integer`,
      `${c0}.resources.${which}[ephemeral-storage]: fractional byte value "1500m" is invalid, must be an integer`,
    ]),
  ],
  [
    { 'spec.overhead': { memory: '1m' } },
    'spec.overhead[memory]: fractional byte value "1m" is invalid, must be an integer',
  ],
  [
    { 'spec.terminationGracePeriodSeconds': -1 },
    'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
  ],
  [
    { 'spec.imagePullSecrets': [{ name: 'a' }, { name: 'a' }, { name: '' }] },
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
  ],
  [
    { 'spec.hostAliases': [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }, { ip: '10.0.0.1' }] },
    'spec.hostAliases[2].ip: duplicate ip "10.0.0.1"',
  ],
  [
    { 'spec.hostAliases': [{ ip: 'FD00::0a' }], 'spec.dnsConfig.nameservers': ['fd00:0:0:0::1', '::1', '10.0.0.1'] },
    'spec.dnsConfig.nameservers[0]: IPv6 address "fd00:0:0:0::1" should be in RFC 5952 canonical format ("fd00::1")',
    'spec.hostAliases[0].ip: IPv6 address "FD00::0a" should be in RFC 5952 canonical format ("fd00::a")',
  ],
  [
    {
      [`${c0}.env`]: [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ],
    },
    `${c0}.env[1]: hides previous definition of "A", which may be dropped when using apply`,
  ],
  [
    {
      [`${c0}.env`]: [
        { name: 'A', value: '1' },
        { name: 'A', value: '$(A)' },
      ],
    },
    `${c0}.env[1]: hides previous definition of "A", which may be dropped when using apply`,
  ],
  [
    {
      [`${c0}.env`]: [
        { name: 'A', value: '1' },
        { name: 'A', value: '$(A):2' },
      ],
    },
  ],
  [
    { [`${c0}.ports`]: [{ containerPort: 80 }, { containerPort: 80 }] },
    `${c0}.ports[1]: duplicate port definition with ${c0}.ports[0]`,
  ],
  [{ [`${c0}.ports`]: [{ containerPort: 80, protocol: 'UDP' }, { containerPort: 80 }] }],
  [
    { [`${c0}.ports`]: [{ containerPort: 80, hostPort: 80 }, { containerPort: 80 }] },
    `${c0}.ports[1]: overlapping port definition with ${c0}.ports[0]`,
  ],
  [
    {
      [`${c0}.ports`]: [
        { containerPort: 80, hostPort: 80 },
        { containerPort: 80, hostPort: 80, hostIP: '10.0.0.1' },
      ],
    },
    `${c0}.ports[1]: dangerously ambiguous port definition with ${c0}.ports[0]`,
  ],
  [
    { [`${c0}.ports`]: [{ containerPort: 80, hostIP: '10.0.0.1' }] },
    `${c0}.ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}`,
  ],
  [
    {
      [`${c0}.ports`]: [{ containerPort: 80, name: 'web' }],
      'spec.containers[1]': { name: 'other', image: 'x', ports: [{ containerPort: 81, name: 'web' }] },
    },
    `spec.containers[1].ports[0]: duplicate port name "web" with ${c0}.ports[0], services and probes that select ports by name will use ${c0}.ports[0]`,
  ],
  [
    { 'spec.nodeSelector': { 'beta.kubernetes.io/os': 'linux' } },
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
  ],
  [
    {
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'Exists' }] }],
      },
    },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
  ],
  [
    { 'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution': [{ topologyKey: 'z' }] },
    'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
  ],
  [
    { 'spec.topologySpreadConstraints': [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' }] },
    'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
  ],
  [
    { 'metadata.annotations': { 'scheduler.alpha.kubernetes.io/critical-pod': '' } },
    'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  [
    { 'metadata.annotations': { 'container.seccomp.security.alpha.kubernetes.io/main': 'runtime/default' } },
    'metadata.annotations[container.seccomp.security.alpha.kubernetes.io/main]: non-functional in v1.27+; use the "seccompProfile" field instead',
  ],
  [vol({ gitRepo: { repository: 'r' } }), `${v0}.gitRepo: deprecated in v1.11, and disabled by default in v1.33+`],
  [
    vol({ configMap: { name: 'c', items: [item('a'), item('a')] } }),
    `${v0}: volume "v" (ConfigMap "c"): overlapping paths: "a" with "a"`,
  ],
  [
    vol({ secret: { secretName: 's', items: [item('a/b'), item('a')] } }),
    `${v0}: volume "v" (Secret "s"): overlapping paths: "a" with "a/b"`,
  ],
  [vol({ secret: { secretName: 's', items: [item('a'), item('ab')] } })],
  [
    vol({
      projected: {
        sources: [
          {},
          { secret: { name: 's', items: [item('a')] } },
          { configMap: { name: 'c', items: [item('a/b')] } },
        ],
      },
    }),
    `${v0}: volume "v" (Projected) has no sources provided`,
    `${v0}: volume "v" (Projected): overlapping paths: "a/b" (ConfigMap "c") with "a" (Secret "s")`,
  ],
];

for (const [changes, ...expected] of cases) {
  test(expected[0] ?? `nothing is said of ${JSON.stringify(changes)}`, () => {
    const pod = buildPod(changes);
    assert.deepEqual(validatePod(pod, permissivePolicy), []);
    assert.deepEqual(
      podWarnings(pod).map(({ field, message }) => `${field}: ${message}`),
      expected,
    );
  });
}

test('the number of warnings about duplicate ports is limited', () => {
  const pod = buildPod({ [`${c0}.ports`]: Array.from({ length: 400 }, () => ({ containerPort: 80 })) });
  assert.equal(podWarnings(pod).filter(({ message }) => message.startsWith('duplicate port definition')).length, 100);
});
