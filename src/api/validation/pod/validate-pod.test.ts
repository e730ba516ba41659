import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../testing/pod-builder.ts';
import { formatFieldError, formatInvalid } from '../field-error.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { validatePod } from './validate-pod.ts';
import { testRefusals, c0, label, subdomain, qualified, labelValue } from '../testing/pod-refusals.ts';

testRefusals(
  {
    metadata: [
      [{ 'metadata.name': '' }, 'metadata.name: Required value: name or generateName is required'],
      [{ 'metadata.name': 'Web' }, `metadata.name: Invalid value: "Web": ${subdomain}`],
      [
        { 'metadata.name': 'a'.repeat(254) },
        `metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`,
      ],
      [{ 'metadata.uid': '..' }, 'metadata.uid: Invalid value: "..": may not be \'..\''],
      [{ 'metadata.uid': '../../etc' }, 'metadata.uid: Invalid value: "../../etc": may not contain \'/\''],
      [
        { 'metadata.uid': 'a\nb%' },
        'metadata.uid: Invalid value: "a\\nb%": may not contain \'%\'',
        'metadata.uid: Invalid value: "a\\nb%": may not contain control characters',
      ],
      [{ 'metadata.namespace': '' }, 'metadata.namespace: Required value'],
      [{ 'metadata.namespace': 'a.b' }, 'metadata.namespace: Invalid value: "a.b": must not contain dots'],
      [{ 'metadata.namespace': 'a_b' }, `metadata.namespace: Invalid value: "a_b": ${label}`],
      [{ 'metadata.generateName': 'ABC-' }, `metadata.generateName: Invalid value: "ABC-": ${subdomain}`],
      [{ 'metadata.generation': -1 }, 'metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
      [{ 'metadata.labels': { '-a': 'b' } }, `metadata.labels: Invalid value: "-a": ${qualified}`],
      [{ 'metadata.labels': { a: 'b c' } }, `metadata.labels: Invalid value: "b c": ${labelValue}`],
      [
        { 'metadata.labels': { a: 'x'.repeat(64) } },
        `metadata.labels: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`,
      ],
      [{ 'metadata.labels': { '/a': 'b' } }, 'metadata.labels: Invalid value: "/a": prefix part must be non-empty'],
      [
        { 'metadata.labels': { 'x.io/': 'b' } },
        'metadata.labels: Invalid value: "x.io/": name part must be non-empty',
        `metadata.labels: Invalid value: "x.io/": ${qualified}`,
      ],
      [{ 'metadata.annotations': { 'a b': 'c' } }, `metadata.annotations: Invalid value: "a b": ${qualified}`],
      [
        { 'metadata.annotations': { a: 'x'.repeat(256 * 1024) } },
        'metadata.annotations: Too long: may not be more than 262144 bytes',
      ],
      [
        { 'metadata.finalizers': ['orphan', 'foregroundDeletion'] },
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
      [
        { 'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: '' }] },
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
      [
        { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' } },
        'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
      ],
      [
        { 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': '+1' } },
        'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
      ],
      [
        { 'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/x': 'unconfined' } },
        'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not found',
      ],
      [
        { 'metadata.annotations': { 'seccomp.security.alpha.kubernetes.io/pod': 'mine' } },
        'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "mine": must be a valid seccomp profile',
      ],
    ],
    scheduling: [
      [{ 'spec.nodeSelector': { 'a b': 'c' } }, `spec.nodeSelector: Invalid value: "a b": ${qualified}`],
      [
        { 'spec.tolerations': [{ operator: 'Equal' }] },
        'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ],
      [
        { 'spec.tolerations': [{ key: 'a', operator: 'Exists', value: 'x' }] },
        `spec.tolerations[0].operator: Invalid value: "x": value must be empty when \`operator\` is 'Exists'`,
      ],
      [
        { 'spec.tolerations': [{ key: 'a', operator: 'Like' }] },
        'spec.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
      ],
      [
        { 'spec.tolerations': [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] },
        `spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
      ],
      [
        { 'spec.tolerations': [{ key: 'a', effect: 'No' }] },
        'spec.tolerations[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
      [
        { 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': { nodeSelectorTerms: [] } },
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
      ],
      [
        {
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }],
          },
        },
        `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      ],
      [
        {
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': {
            nodeSelectorTerms: [{ matchFields: [{ key: 'spec.x', operator: 'In', values: ['a'] }] }],
          },
        },
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "spec.x": not a valid field selector key',
      ],
      [
        {
          'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution': [{ weight: 0, preference: {} }],
        },
        'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100',
      ],
      [
        {
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution': [
            { labelSelector: { matchExpressions: [{ key: 'a', operator: 'x' }] }, topologyKey: 'z' },
          ],
        },
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator',
      ],
      [
        {
          'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution': [
            { matchLabelKeys: ['a'], topologyKey: 'z' },
          ],
        },
        'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
      ],
      [
        { 'spec.topologySpreadConstraints': [{ maxSkew: 0, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }] },
        'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
      ],
      [
        { 'spec.topologySpreadConstraints': [{ maxSkew: 1, topologyKey: '', whenUnsatisfiable: 'DoNotSchedule' }] },
        'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
      ],
      [
        { 'spec.topologySpreadConstraints': [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'x' }] },
        'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "x": supported values: "DoNotSchedule", "ScheduleAnyway"',
      ],
      [
        {
          'spec.topologySpreadConstraints': [
            { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 1 },
          ],
        },
        'spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      ],
      [
        {
          'spec.topologySpreadConstraints': Array(2).fill({
            maxSkew: 1,
            topologyKey: 'z',
            whenUnsatisfiable: 'ScheduleAnyway',
          }),
        },
        'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, ScheduleAnyway}"',
      ],
      [
        { 'spec.nodeName': 'n', 'spec.schedulingGates': [{ name: 'a' }] },
        'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
      ],
      [{ 'spec.schedulingGates': [{ name: 'a' }, { name: 'a' }] }, 'spec.schedulingGates[1]: Duplicate value: "a"'],
      [
        { 'spec.schedulingGroup': {} },
        'spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`',
      ],
    ],
    'rest of the spec': [
      [
        { 'spec.restartPolicy': 'x' },
        'spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
      ],
      [
        { 'spec.dnsPolicy': 'x' },
        'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
      [
        { 'spec.dnsPolicy': 'None' },
        'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None',
      ],
      [
        { 'spec.dnsPolicy': 'None', 'spec.dnsConfig': {} },
        'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
      ],
      [
        { 'spec.dnsConfig.nameservers': ['x'] },
        'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
      [
        { 'spec.dnsConfig.nameservers': ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] },
        'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers',
      ],
      [{ 'spec.dnsConfig.options': [{ value: 'x' }] }, 'spec.dnsConfig.options[0]: Required value: must not be empty'],
      [
        { 'spec.hostAliases': [{ ip: '300.1.1.1' }] },
        'spec.hostAliases[0].ip: Invalid value: "300.1.1.1": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
      [
        { 'spec.hostAliases': [{ ip: '::1', hostnames: ['A'] }] },
        `spec.hostAliases[0].hostnames[0]: Invalid value: "A": ${subdomain}`,
      ],
      [
        { 'spec.activeDeadlineSeconds': 0 },
        'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
      ],
      [{ 'spec.hostname': 'a.b' }, 'spec.hostname: Invalid value: "a.b": must not contain dots'],
      [{ 'spec.subdomain': 'A' }, `spec.subdomain: Invalid value: "A": ${label}`],
      [
        { 'spec.hostnameOverride': 'x', 'spec.hostNetwork': true },
        'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
      ],
      [
        { 'spec.hostnameOverride': 'x', 'spec.setHostnameAsFQDN': true },
        'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
      ],
      [{ 'spec.hostnameOverride': 'x'.repeat(65) }, 'spec.hostnameOverride: Too long: may not be more than 64 bytes'],
      [{ 'spec.serviceAccountName': 'A' }, `spec.serviceAccountName: Invalid value: "A": ${subdomain}`],
      [{ 'spec.nodeName': 'A' }, `spec.nodeName: Invalid value: "A": ${subdomain}`],
      [{ 'spec.priorityClassName': 'A' }, `spec.priorityClassName: Invalid value: "A": ${subdomain}`],
      [{ 'spec.runtimeClassName': '' }, `spec.runtimeClassName: Invalid value: "": ${subdomain}`],
      [
        { 'spec.preemptionPolicy': 'x' },
        'spec.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"',
      ],
      [
        { 'spec.readinessGates': [{ conditionType: 'a b' }] },
        `spec.readinessGates[0].conditionType: Invalid value: "a b": ${qualified}`,
      ],
    ],
  },
  65,
);

test('annotations of a requested certificate are limited together', () => {
  const refusals = (bytes: number): string[] => {
    const key = 'example.com/note';
    const podCertificate = {
      signerName: 'example.com/signer',
      keyType: 'ED25519',
      credentialBundlePath: 'bundle.pem',
      userAnnotations: { [key]: 'x'.repeat(bytes - key.length) },
    };
    return validatePod(
      buildPod({ 'spec.volumes[0]': { name: 'v', projected: { sources: [{ podCertificate }] } } }),
      permissivePolicy,
    ).map(formatFieldError);
  };
  const field = 'spec.volumes[0].projected.sources[0].podCertificate.userAnnotations';
  assert.deepEqual(
    [refusals(262_144), refusals(262_145)],
    [[], [`${field}: Too long: may not be more than 262144 bytes`]],
  );
});

test('several errors are printed as the API server prints them, each once', () => {
  const errors = validatePod(buildPod({ [`${c0}.image`]: '', 'spec.restartPolicy': 'x' }), permissivePolicy);
  assert.equal(
    formatInvalid('Pod', 'web', [...errors, ...errors]),
    'Pod "web" is invalid: [spec.containers[0].image: Required value, spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"]',
  );
  assert.equal(
    formatInvalid('Pod', 'web', errors.slice(0, 1)),
    'Pod "web" is invalid: spec.containers[0].image: Required value',
  );
});

test('a pod that was not defaulted lacks what defaulting gives', () => {
  const texts = validatePod(buildPod({}, { defaulted: false }), permissivePolicy).map(formatFieldError);
  assert.deepEqual(texts, [
    'spec.terminationGracePeriodSeconds: Required value',
    'spec.containers[0].terminationMessagePolicy: Required value',
    'spec.containers[0].imagePullPolicy: Required value',
    'spec.restartPolicy: Required value',
    'spec.dnsPolicy: Required value',
  ]);
});
