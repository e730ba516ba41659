import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { buildPod } from '../testing/pod-builder.ts';
import type { Changes } from '../testing/pod-builder.ts';
import { permissivePolicy } from '../validation/cluster-policy.ts';
import { validatePod } from '../validation/pod/validate-pod.ts';
import { pullPolicyFor } from './default-container.ts';
import { defaultPod } from './default-pod.ts';

test('a minimal pod gets what the API server would give it', () => {
  const { spec } = buildPod();
  assert.deepEqual(spec, {
    containers: [
      {
        name: 'main',
        image: 'busybox:1.36',
        imagePullPolicy: 'IfNotPresent',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        resources: {},
      },
    ],
    enableServiceLinks: true,
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    schedulerName: 'default-scheduler',
  });
});

test('the pull policy follows the tag', () => {
  const images = [
    'busybox',
    'busybox:latest',
    'busybox:1',
    'r.io:5000/a/b',
    'r.io:5000/a/b:1',
    `busybox@sha256:${'a'.repeat(64)}`,
    'BAD name',
    '',
  ];
  assert.deepEqual(images.map(pullPolicyFor), [
    'Always',
    'Always',
    'IfNotPresent',
    'Always',
    'IfNotPresent',
    'IfNotPresent',
    'IfNotPresent',
    'IfNotPresent',
  ]);
});

test('probes, hooks, ports, field references and volumes are filled in', () => {
  const pod = buildPod({
    'spec.hostNetwork': true,
    'spec.serviceAccountName': 'sa',
    'spec.containers[0].ports': [{ containerPort: 80 }],
    'spec.containers[0].livenessProbe': { httpGet: { port: 80 } },
    'spec.containers[0].readinessProbe': { grpc: { port: 80 } },
    'spec.containers[0].env': [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    'spec.volumes': [
      { name: 'a' },
      { name: 'b', secret: { secretName: 's' } },
      { name: 'c', hostPath: { path: '/x' } },
      { name: 'd', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
    ],
  });
  const [main] = pod.spec.containers;
  assert.deepEqual(main?.ports, [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }]);
  assert.deepEqual(main?.livenessProbe, {
    httpGet: { port: 80, path: '/', scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
  assert.deepEqual(main?.readinessProbe?.grpc, { port: 80, service: '' });
  assert.equal(main?.env?.[0]?.valueFrom?.fieldRef?.apiVersion, 'v1');
  assert.deepEqual(pod.spec.volumes, [
    { name: 'a', emptyDir: {} },
    { name: 'b', secret: { secretName: 's', defaultMode: 0o644 } },
    { name: 'c', hostPath: { path: '/x', type: '' } },
    {
      name: 'd',
      projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }], defaultMode: 0o644 },
    },
  ]);
  assert.deepEqual(validatePod(pod, permissivePolicy), []);
});

test('requests come from limits, and pod-level requests from the containers, else from the pod-level limits', () => {
  const pod = buildPod({
    'spec.containers[0].resources': { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100u' } },
    'spec.resources': { limits: { cpu: '2', memory: '2Gi' } },
  });
  assert.deepEqual(pod.spec.containers[0]?.resources?.requests, { cpu: '1m', memory: '1Gi' });
  assert.deepEqual(pod.spec.resources?.requests, { cpu: '1m', memory: '1Gi' });
  assert.deepEqual(buildPod({ 'spec.resources': { limits: { cpu: '2' } } }).spec.resources?.requests, { cpu: '2' });
});

test('a pod with resources of its own takes over the huge pages of its containers, and only those', () => {
  const huge = { 'hugepages-2Mi': '4Mi' };
  const of = (
    resources: object | undefined,
    limits: object = { ...huge, cpu: '1' },
    requests: object = limits,
  ): unknown =>
    buildPod({
      'spec.containers[0].resources': { limits, requests },
      'spec.containers[1]': { name: 'other', image: 'x', resources: { limits: huge } },
      ...(resources !== undefined && { 'spec.resources': resources }),
    }).spec.resources;
  const both = { 'hugepages-2Mi': '8Mi' };
  assert.deepEqual(
    [
      of(undefined),
      of({}),
      of({ limits: {}, requests: {} }),
      of({ requests: { cpu: '2' } }),
      of({ limits: { cpu: '2' } }),
      of({ limits: { cpu: '2', 'hugepages-2Mi': '2Mi' } }),
      of({ limits: { cpu: '2' }, requests: { 'hugepages-2Mi': '2Mi' } }),
      of({ limits: { cpu: '2' } }, { 'x.io/gpu': '1', cpu: '1' }),
      of({ limits: { 'x.io/gpu': '3' } }),
    ],
    [
      undefined,
      {},
      { limits: {}, requests: {} },
      { limits: both, requests: { cpu: '2', ...both } },
      { limits: { cpu: '2', ...both }, requests: { cpu: '1', ...both } },
      { limits: { cpu: '2', 'hugepages-2Mi': '2Mi' }, requests: { cpu: '1', 'hugepages-2Mi': '2Mi' } },
      { limits: { cpu: '2' }, requests: { cpu: '1', 'hugepages-2Mi': '2Mi' } },
      { limits: { cpu: '2', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '1', 'hugepages-2Mi': '4Mi' } },
      { limits: { 'x.io/gpu': '3', ...both }, requests: { cpu: '1', ...both } },
    ],
  );
  const bare = buildPod({ 'spec.resources': { limits: { 'x.io/gpu': '3' } } });
  assert.deepEqual(bare.spec.resources, { limits: { 'x.io/gpu': '3' } });
  const only = buildPod({ 'spec.resources': { requests: { cpu: '1' } } });
  assert.deepEqual(only.spec.resources, { requests: { cpu: '1' } });
});

test('both names of the service account say the same, and ports are those of the host only on its network', () => {
  const accounts = (spec: Changes): unknown => {
    const { serviceAccountName, serviceAccount } = defaultPod(buildPod(spec)).spec;
    return [serviceAccountName, serviceAccount];
  };
  const port = (more: object): unknown =>
    buildPod({
      'spec.containers[0].ports': [
        { containerPort: 80, hostPort: 0 },
        { containerPort: 81, hostPort: 8 },
      ],
      ...more,
    }).spec.containers[0]?.ports?.map(({ hostPort }) => hostPort);
  assert.deepEqual(
    [
      accounts({}),
      accounts({ 'spec.serviceAccountName': 'a' }),
      accounts({ 'spec.serviceAccount': 'b' }),
      accounts({ 'spec.serviceAccountName': 'a', 'spec.serviceAccount': 'b' }),
      port({}),
      port({ 'spec.hostNetwork': true }),
    ],
    [
      [undefined, undefined],
      ['a', 'a'],
      ['b', 'b'],
      ['a', 'a'],
      [0, 8],
      [80, 8],
    ],
  );
});

test('hooks, references of variables and the reported resources are filled in too', () => {
  const fine = { cpu: '100u' };
  const status = { name: 'main', allocatedResources: fine, resources: { limits: fine, requests: fine } };
  const pod = buildPod({
    'spec.containers[0].lifecycle': {
      postStart: { httpGet: { port: 80 } },
      preStop: { httpGet: { port: 80, path: '/x', scheme: 'HTTPS' } },
    },
    'spec.containers[1]': { name: 'other', image: 'x', lifecycle: { preStop: { exec: { command: ['x'] } } } },
    'spec.containers[0].env': [
      { name: 'A', value: '1' },
      { name: 'B', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
      { name: 'C', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k', optional: true } } },
      { name: 'D', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      { name: 'E', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
    ],
    'spec.overhead': fine,
    status: {
      initContainerStatuses: [{ name: 'i' }],
      containerStatuses: [status],
      ephemeralContainerStatuses: [status],
    },
  });
  const [main] = pod.spec.containers;
  const rounded = { cpu: '1m' };
  assert.deepEqual(
    [
      main?.lifecycle?.postStart?.httpGet,
      main?.lifecycle?.preStop?.httpGet,
      main?.env?.map(({ valueFrom }) => valueFrom?.fileKeyRef?.optional ?? valueFrom?.resourceFieldRef?.divisor),
      pod.spec.overhead,
      ...[pod.status?.initContainerStatuses, pod.status?.containerStatuses, pod.status?.ephemeralContainerStatuses].map(
        (list) => [list?.[0]?.allocatedResources, list?.[0]?.resources],
      ),
    ],
    [
      { port: 80, path: '/', scheme: 'HTTP' },
      { port: 80, path: '/x', scheme: 'HTTPS' },
      [undefined, false, true, '0', '1m'],
      rounded,
      [undefined, undefined],
      [rounded, { limits: rounded, requests: rounded }],
      [rounded, { limits: rounded, requests: rounded }],
    ],
  );
});

test('defaulting leaves its argument alone', () => {
  const before = buildPod({ 'spec.volumes': [{ name: 'a' }] }, { defaulted: false });
  const copy = structuredClone(before);
  defaultPod(before);
  assert.deepEqual(before, copy);
});

const container = fc.record(
  {
    name: fc.constantFrom('a', 'b', 'c'),
    image: fc.constantFrom('busybox', 'busybox:1', 'x y', ''),
    ports: fc.array(fc.record({ containerPort: fc.nat({ max: 70_000 }) }), { maxLength: 2 }),
    resources: fc.record(
      {
        limits: fc.dictionary(
          fc.constantFrom('cpu', 'memory', 'hugepages-2Mi'),
          fc.constantFrom('1', '500m', '100u', '4Mi'),
        ),
        requests: fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.constantFrom('1', '1.5')),
      },
      { requiredKeys: [] },
    ),
    livenessProbe: fc.record({ httpGet: fc.record({ port: fc.nat() }), periodSeconds: fc.nat() }, { requiredKeys: [] }),
    restartPolicy: fc.constantFrom('Always', 'Never'),
  },
  { requiredKeys: ['name'] },
);

test('defaulting twice is defaulting once, and validation never throws on the result', () => {
  const spec = fc.record(
    {
      containers: fc.array(container, { maxLength: 3 }),
      initContainers: fc.array(container, { maxLength: 2 }),
      hostNetwork: fc.boolean(),
      resources: fc.record({ limits: fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.constantFrom('1', '4Mi')) }),
      volumes: fc.array(
        fc.record(
          { name: fc.constantFrom('a', 'b'), image: fc.constant({ reference: 'x' }) },
          { requiredKeys: ['name'] },
        ),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: ['containers'] },
  );
  fc.assert(
    fc.property(spec, (value) => {
      const once = buildPod({ spec: value });
      assert.deepEqual(defaultPod(once), once);
      validatePod(once, permissivePolicy);
    }),
  );
});
