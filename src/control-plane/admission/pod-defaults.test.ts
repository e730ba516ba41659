import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  localSubjectAccessReviews,
  namespaces,
  nodes,
  pods,
  priorityClasses,
  runtimeClasses,
  serviceAccounts,
} from '../../api/client/resource-types.ts';
import type { PriorityClass } from '../../api/scheduling/priority-class.ts';
import type { ServiceAccount } from '../../api/core/service-account.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createDefaultTolerationSeconds } from './default-toleration-seconds.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle.ts';
import { createPriority } from './priority.ts';
import { createRuntimeClassAdmission } from './runtime-class.ts';
import { createServiceAccountAdmission } from './service-account.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';
import { AdmissionFixture, namespace } from './testing/admission-fixture.ts';

describe('NamespaceLifecycle', () => {
  it('refuses objects of a missing namespace in the mutating phase', async () => {
    const fixture = new AdmissionFixture();
    const plugin = createNamespaceLifecycle(fixture.reader, () => Promise.resolve());
    const pod = buildPod({ 'metadata.namespace': 'nope' });
    const { error } = await fixture.write(plugin, pods, { object: pod });
    assert.deepEqual([error?.reason, error?.message], ['NotFound', 'namespaces "nope" not found']);
    assert.equal(plugin.validate, undefined);
    assert.equal(await fixture.refusal(plugin, pods, { old: pod }), '', 'what is left over can be deleted');
    assert.equal(await fixture.refusal(plugin, pods, { object: buildPod() }), '');
  });

  it('reads a missing namespace again before it rejects: another server may have just created it', async () => {
    const fixture = new AdmissionFixture();
    let asked = 0;
    const plugin = createNamespaceLifecycle(fixture.reader, () => {
      asked++;
      fixture.reader.put(namespaces, namespace('new'));
      return Promise.resolve();
    });
    const object = buildPod({ 'metadata.namespace': 'new' });
    assert.equal((await fixture.write(plugin, pods, { object })).object, object);
    assert.equal((await fixture.write(plugin, pods, { object })).object, object);
    assert.equal(asked, 1);
  });

  it('refuses creations in a namespace that is being deleted, and accepts updates', async () => {
    const fixture = new AdmissionFixture();
    fixture.reader.put(namespaces, namespace('old', {}, 'Terminating'));
    const plugin = createNamespaceLifecycle(fixture.reader, () => Promise.resolve());
    const pod = buildPod({ 'metadata.namespace': 'old' });
    const { error } = await fixture.write(plugin, pods, { object: pod });
    assert.equal(
      error?.message,
      'pods "web" is forbidden: unable to create new content in namespace old because it is being terminated',
    );
    assert.deepEqual(error.details?.causes, [
      { reason: 'NamespaceTerminating', message: 'namespace old is being terminated', field: 'metadata.namespace' },
    ]);
    assert.equal(await fixture.refusal(plugin, pods, { object: pod, old: pod }), '');
  });

  it('protects the namespaces that a cluster needs, and says nothing about others to users without rights', async () => {
    const fixture = new AdmissionFixture();
    const plugin = createNamespaceLifecycle(fixture.reader, () => Promise.resolve());
    for (const name of ['default', 'kube-system', 'kube-public'])
      assert.equal(
        await fixture.refusal(plugin, namespaces, { old: namespace(name) }),
        `namespaces "${name}" is forbidden: this namespace may not be deleted`,
      );
    assert.equal(await fixture.refusal(plugin, namespaces, { old: namespace('mine') }), '');
    const review = { metadata: { name: '', namespace: 'nope', uid: '' }, spec: {} };
    assert.equal(await fixture.refusal(plugin, localSubjectAccessReviews, { object: review }), '');
  });
});

describe('ServiceAccount', () => {
  const account = (name: string, more: Partial<ServiceAccount> = {}): ServiceAccount => ({
    metadata: { name, namespace: 'default', uid: 'u' },
    ...more,
  });
  function setUp(...accounts: ServiceAccount[]) {
    const fixture = new AdmissionFixture();
    const clock = new FakeClock();
    fixture.reader.put(serviceAccounts, ...accounts);
    return {
      fixture,
      clock,
      plugin: createServiceAccountAdmission({ reader: fixture.reader, clock, random: seededRandom(3) }),
    };
  }

  it('gives a pod the default account, its pull secrets and a token in each container', async () => {
    const { fixture, plugin } = setUp(account('default', { imagePullSecrets: [{ name: 'registry' }] }));
    const { object } = await fixture.write(plugin, pods, {
      object: buildPod({ 'spec.initContainers': [{ name: 'i', image: 'x' }] }),
    });
    assert.deepEqual(
      [object?.spec.serviceAccountName, object?.spec.serviceAccount, object?.spec.imagePullSecrets],
      ['default', 'default', [{ name: 'registry' }]],
    );
    const [volume] = object?.spec.volumes ?? [];
    assert.match(volume?.name ?? '', /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.deepEqual(volume?.projected, {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    });
    const mount = { name: volume?.name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    assert.deepEqual(
      [object?.spec.containers[0]?.volumeMounts, object?.spec.initContainers?.[0]?.volumeMounts],
      [[mount], [mount]],
    );
  });

  it('adds a token only where none is mounted, and pull secrets only where the pod has none', async () => {
    const { fixture, plugin } = setUp(
      account('default', { imagePullSecrets: [{ name: 'registry' }] }),
      account('bare'),
    );
    const own = { name: 'mine', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    const other = { name: 'other', image: 'x', volumeMounts: [{ name: 'data', mountPath: '/data' }] };
    const outcomeOf = async (changes: Record<string, unknown>) => {
      const { spec } = (await fixture.write(plugin, pods, { object: buildPod(changes) })).object ?? buildPod();
      return [
        spec.containers.map(({ volumeMounts }) => volumeMounts?.map(({ name }) => name.replace(/-[^-]{5}$/, '-?'))),
        spec.volumes?.map(({ name }) => name.replace(/-[^-]{5}$/, '-?')),
        spec.imagePullSecrets?.map(({ name }) => name),
      ];
    };
    const mounted = { 'spec.containers[0].volumeMounts': [own] };
    assert.deepEqual(
      [
        await outcomeOf(mounted),
        await outcomeOf({ ...mounted, 'spec.containers[1]': other }),
        await outcomeOf({
          'spec.volumes': [
            { name: 'data', emptyDir: {} },
            { name: 'kube-api-access-given', emptyDir: {} },
          ],
        }),
        await outcomeOf({ ...mounted, 'spec.imagePullSecrets': [{ name: 'own' }] }),
        await outcomeOf({ ...mounted, 'spec.serviceAccountName': 'bare' }),
      ],
      [
        [[['mine']], undefined, ['registry']],
        [[['mine'], ['data', 'kube-api-access-?']], ['kube-api-access-?'], ['registry']],
        [[['kube-api-access-?']], ['data', 'kube-api-access-?'], ['registry']],
        [[['mine']], undefined, ['own']],
        [[['mine']], undefined, undefined],
      ],
    );
  });

  it('judges new pods and new ephemeral containers by the secrets that their account lists', async () => {
    const enforcing = {
      metadata: {
        name: 'default',
        namespace: 'default',
        uid: 'u',
        annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' },
      },
    };
    const { fixture, plugin } = setUp(enforcing);
    const old = buildPod({ 'spec.serviceAccountName': 'default' });
    const secret = { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] };
    const debug = buildPod({
      'spec.serviceAccountName': 'default',
      'spec.ephemeralContainers': [{ name: 'debug', image: 'x', ...secret }],
    });
    const added = { object: debug, old, subresource: 'ephemeralcontainers' };
    assert.deepEqual(
      [
        await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.containers[0].env': secret.env }) }),
        await fixture.refusal(plugin, pods, added),
        await fixture.refusal(plugin, pods, { object: debug, old }),
        await fixture.refusal(plugin, pods, { object: debug, subresource: 'ephemeralcontainers' }),
        (await fixture.write(plugin, pods, { ...added, object: old })).object,
        await fixture.refusal({ ...plugin, mutate: undefined } as unknown as typeof plugin, pods, {
          object: buildPod(),
        }),
      ],
      [
        'pods "web" is forbidden: container main with envVar A referencing secret.secretName="s" is not allowed because service account default does not reference that secret',
        'pods "web" is forbidden: ephemeral container debug with envVar A referencing secret.secretName="s" is not allowed because service account default does not reference that secret',
        '',
        '',
        old,
        'pods "web" is forbidden: no service account specified for pod default/web',
      ],
    );
  });

  it('adds no token when it is disabled: the pod decides first, then its account', async () => {
    const { fixture, plugin } = setUp(account('default', { automountServiceAccountToken: false }));
    assert.equal((await fixture.write(plugin, pods, { object: buildPod() })).object?.spec.volumes, undefined);
    assert.equal(
      (await fixture.write(plugin, pods, { object: buildPod({ 'spec.automountServiceAccountToken': true }) })).object
        ?.spec.volumes?.length,
      1,
    );
  });

  it('waits briefly for the account of a new namespace, and for no other account', async () => {
    const { fixture, clock, plugin } = setUp();
    const late = fixture.write(plugin, pods, { object: buildPod() });
    await clock.advance(500);
    fixture.reader.put(serviceAccounts, account('default'));
    assert.equal((await late).object?.spec.serviceAccountName, 'default');
    assert.equal(
      await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.serviceAccountName': 'robot' }) }),
      'pods "web" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found',
    );
    fixture.reader.remove(serviceAccounts, { namespace: 'default', name: 'default' });
    const never = fixture.refusal(plugin, pods, { object: buildPod() });
    await clock.advance(1000);
    assert.equal(
      await never,
      'pods "web" is forbidden: error looking up service account default/default: serviceaccount "default" not found',
    );
    assert.equal(fixture.reader.listeners, 0);
  });

  it('refuses accounts, secrets and tokens in mirror pods', async () => {
    const { fixture, plugin } = setUp(account('default'));
    const mirror = (more: Record<string, unknown>) =>
      fixture.refusal(plugin, pods, {
        object: buildPod({ 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' }, ...more }),
      });
    assert.equal(await mirror({}), '');
    assert.match(
      await mirror({ 'spec.serviceAccountName': 'default' }),
      /a mirror pod may not reference service accounts$/,
    );
    assert.match(
      await mirror({ 'spec.volumes': [{ name: 'v', secret: { secretName: 's' } }] }),
      /a mirror pod may not reference secrets$/,
    );
    assert.match(
      await mirror({
        'spec.volumes': [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
      }),
      /a mirror pod may not use ServiceAccountToken volume projections$/,
    );
  });
});

describe('Priority', () => {
  const priorityClass = (name: string, value: number, more: Partial<PriorityClass> = {}): PriorityClass => ({
    metadata: { name, namespace: '', uid: name },
    value,
    ...more,
  });
  function setUp(...classes: PriorityClass[]) {
    const fixture = new AdmissionFixture();
    fixture.reader.put(priorityClasses, ...classes);
    return { fixture, plugin: createPriority(fixture.reader) };
  }
  const of = (pod: ReturnType<typeof buildPod> | undefined) => [
    pod?.spec.priorityClassName,
    pod?.spec.priority,
    pod?.spec.preemptionPolicy,
  ];

  it('sets the priority from the class, or from the default class if the pod names none', async () => {
    const { fixture, plugin } = setUp(
      priorityClass('high', 9, { preemptionPolicy: 'Never' }),
      priorityClass('usual', 3, { globalDefault: true }),
      priorityClass('least', 1, { globalDefault: true }),
    );
    assert.deepEqual(
      of((await fixture.write(plugin, pods, { object: buildPod({ 'spec.priorityClassName': 'high' }) })).object),
      ['high', 9, 'Never'],
    );
    assert.deepEqual(of((await fixture.write(plugin, pods, { object: buildPod() })).object), [
      'least',
      1,
      'PreemptLowerPriority',
    ]);
    const empty = setUp();
    assert.deepEqual(of((await empty.fixture.write(empty.plugin, pods, { object: buildPod() })).object), [
      undefined,
      0,
      'PreemptLowerPriority',
    ]);
  });

  it('refuses an unknown class, a priority set by the user, and a second default class', async () => {
    const { fixture, plugin } = setUp(priorityClass('usual', 3, { globalDefault: true }));
    assert.equal(
      await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.priorityClassName': 'x' }) }),
      'pods "web" is forbidden: no PriorityClass with name x was found',
    );
    assert.match(
      await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.priority': 7 }) }),
      /the integer value of priority \(7\) must not be provided in pod spec; priority admission controller computed 3 from the given PriorityClass name$/,
    );
    assert.match(
      await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.preemptionPolicy': 'Never' }) }),
      /the string value of PreemptionPolicy \(Never\) must not be provided/,
    );
    const second = fixture.refusal(plugin, priorityClasses, {
      object: priorityClass('other', 1, { globalDefault: true }),
    });
    assert.match(await second, /PriorityClass usual is already marked as default. Only one default can exist$/);
    assert.equal(
      await fixture.refusal(plugin, priorityClasses, {
        object: priorityClass('usual', 3, { globalDefault: true }),
        old: priorityClass('usual', 3),
      }),
      '',
    );
  });

  it('accepts values that equal the computed ones, and a class that is no default', async () => {
    const { fixture, plugin } = setUp(
      priorityClass('usual', 3, { globalDefault: true, preemptionPolicy: 'Never' }),
      priorityClass('low', 1),
    );
    const same = buildPod({ 'spec.priority': 3, 'spec.preemptionPolicy': 'Never' });
    assert.deepEqual(of((await fixture.write(plugin, pods, { object: same })).object), ['usual', 3, 'Never']);
    assert.deepEqual(
      [
        await fixture.refusal(plugin, priorityClasses, { object: priorityClass('other', 1) }),
        await fixture.refusal(plugin, priorityClasses, { old: priorityClass('usual', 3) }),
        plugin.handles(fixture.attributes(pods, { old: same })),
        plugin.handles(fixture.attributes(pods, { object: same, old: same, subresource: 'status' })),
        plugin.handles(fixture.attributes(nodes, { object: { metadata: same.metadata, spec: {} } })),
      ],
      ['', '', false, false, false],
    );
  });

  it('uses the lowest of several default classes, whatever their order', async () => {
    const classes = [2, 1, 3].map((value) => priorityClass(`p${value}`, value, { globalDefault: true }));
    const { fixture, plugin } = setUp(...classes);
    assert.deepEqual(of((await fixture.write(plugin, pods, { object: buildPod() })).object)[1], 1);
  });

  it('treats an update without the priority as one that keeps it', async () => {
    const { fixture, plugin } = setUp();
    const updated = async (now: Changes, before: Changes) =>
      (await fixture.write(plugin, pods, { object: buildPod(now), old: buildPod(before) })).object?.spec ?? {};
    const kept = { 'spec.priority': 5, 'spec.preemptionPolicy': 'Never' };
    assert.deepEqual(
      of({ ...buildPod(), spec: { ...buildPod().spec, ...(await updated({ 'spec.priority': 5 }, kept)) } }),
      [undefined, 5, 'Never'],
    );
    assert.deepEqual(
      [
        Object.hasOwn(await updated({}, {}), 'priority'),
        Object.hasOwn(await updated({}, { 'spec.priority': 5 }), 'preemptionPolicy'),
      ],
      [false, false],
    );
    const whole = buildPod(kept);
    assert.equal((await fixture.write(plugin, pods, { object: whole, old: buildPod() })).object, whole);
    const { object } = await fixture.write(plugin, pods, {
      object: buildPod(),
      old: buildPod({ 'spec.priority': 5, 'spec.preemptionPolicy': 'Never' }),
    });
    assert.deepEqual(of(object), [undefined, 5, 'Never']);
  });
});

describe('the smaller plugins', () => {
  it('let pods stay on a failing node for a while, unless they say for how long', async () => {
    const fixture = new AdmissionFixture();
    const plugin = createDefaultTolerationSeconds({ seconds: 300 });
    const added = (key: string) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    });
    assert.deepEqual((await fixture.write(plugin, pods, { object: buildPod() })).object?.spec.tolerations, [
      added('not-ready'),
      added('unreachable'),
    ]);
    const own = [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' as const }];
    assert.deepEqual(
      (await fixture.write(plugin, pods, { object: buildPod({ 'spec.tolerations': own }) })).object?.spec.tolerations,
      [...own, added('unreachable')],
    );
    const all = buildPod({ 'spec.tolerations': [{ operator: 'Exists' }] });
    assert.equal((await fixture.write(plugin, pods, { object: all })).object, all);
  });

  it('keep pods off a node that was never ready', async () => {
    const fixture = new AdmissionFixture();
    const node = { metadata: { name: 'n', namespace: '', uid: '' }, spec: {} };
    const first = (await fixture.write(taintNodesByCondition, nodes, { object: node })).object;
    assert.deepEqual(first?.spec?.taints, [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    assert.equal((await fixture.write(taintNodesByCondition, nodes, { object: first ?? node })).object, first);
    assert.equal(taintNodesByCondition.handles(fixture.attributes(nodes, { object: node, old: node })), false);
  });

  it('add the overhead of a runtime class, and refuse an unknown class', async () => {
    const fixture = new AdmissionFixture();
    fixture.reader.put(runtimeClasses, {
      metadata: { name: 'vm', namespace: '', uid: '' },
      handler: 'vm',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { vm: 'yes' } },
    });
    const plugin = createRuntimeClassAdmission(fixture.reader);
    const { object } = await fixture.write(plugin, pods, { object: buildPod({ 'spec.runtimeClassName': 'vm' }) });
    assert.deepEqual([object?.spec.overhead, object?.spec.nodeSelector], [{ memory: '64Mi' }, { vm: 'yes' }]);
    assert.equal(
      await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.runtimeClassName': 'none' }) }),
      'pods "web" is forbidden: pod rejected: RuntimeClass "none" not found',
    );
    const bare = buildPod();
    const vm = (more: object) => buildPod({ 'spec.runtimeClassName': 'vm', ...more });
    assert.deepEqual(
      [
        await fixture.refusal(plugin, pods, { object: buildPod({ 'spec.overhead': { cpu: '1' } }) }),
        await fixture.refusal(plugin, pods, { object: vm({ 'spec.overhead': { cpu: '1' } }) }),
        await fixture.refusal(plugin, pods, { object: vm({ 'spec.nodeSelector': { vm: 'no' } }) }),
        (await fixture.write(plugin, pods, { object: bare })).object === bare,
        plugin.handles(fixture.attributes(pods, { object: bare, old: bare })),
        plugin.handles(fixture.attributes(nodes, { object: { metadata: bare.metadata, spec: {} } })),
      ],
      [
        'pods "web" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
        `pods "web" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`,
        'pods "web" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
        true,
        false,
        false,
      ],
    );
  });
});
