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
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createDefaultTolerationSeconds } from './default-toleration-seconds.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle.ts';
import { createPriority } from './priority.ts';
import { createRuntimeClassAdmission } from './runtime-class.ts';
import { createServiceAccountAdmission } from './service-account.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';
import { AdmissionGround, namespace } from './testing/admission-ground.ts';

describe('NamespaceLifecycle', () => {
  it('refuses what is made where there is no namespace, before anybody else is asked', async () => {
    const ground = new AdmissionGround();
    const plugin = createNamespaceLifecycle(ground.reader, () => Promise.resolve());
    const pod = buildPod({ 'metadata.namespace': 'nope' });
    const { error } = await ground.write(plugin, pods, { object: pod });
    assert.deepEqual([error?.reason, error?.message], ['NotFound', 'namespaces "nope" not found']);
    assert.equal(plugin.validate, undefined);
    assert.equal(await ground.refusal(plugin, pods, { old: pod }), '', 'what is left over can be deleted');
    assert.equal(await ground.refusal(plugin, pods, { object: buildPod() }), '');
  });

  it('asks anew before it says so: another server may have made it just now', async () => {
    const ground = new AdmissionGround();
    let asked = 0;
    const plugin = createNamespaceLifecycle(ground.reader, () => {
      asked++;
      ground.reader.put(namespaces, namespace('new'));
      return Promise.resolve();
    });
    const object = buildPod({ 'metadata.namespace': 'new' });
    assert.equal((await ground.write(plugin, pods, { object })).object, object);
    assert.equal((await ground.write(plugin, pods, { object })).object, object);
    assert.equal(asked, 1);
  });

  it('lets nothing be made, but changed, in a namespace that is going', async () => {
    const ground = new AdmissionGround();
    ground.reader.put(namespaces, namespace('old', {}, 'Terminating'));
    const plugin = createNamespaceLifecycle(ground.reader, () => Promise.resolve());
    const pod = buildPod({ 'metadata.namespace': 'old' });
    const { error } = await ground.write(plugin, pods, { object: pod });
    assert.equal(
      error?.message,
      'pods "web" is forbidden: unable to create new content in namespace old because it is being terminated',
    );
    assert.deepEqual(error.details?.causes, [
      { reason: 'NamespaceTerminating', message: 'namespace old is being terminated', field: 'metadata.namespace' },
    ]);
    assert.equal(await ground.refusal(plugin, pods, { object: pod, old: pod }), '');
  });

  it('keeps the namespaces a cluster needs, and says nothing of others to who asks what they may', async () => {
    const ground = new AdmissionGround();
    const plugin = createNamespaceLifecycle(ground.reader, () => Promise.resolve());
    assert.equal(
      await ground.refusal(plugin, namespaces, { old: namespace('kube-system') }),
      'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    );
    assert.equal(await ground.refusal(plugin, namespaces, { old: namespace('mine') }), '');
    const review = { metadata: { name: '', namespace: 'nope', uid: '' }, spec: {} };
    assert.equal(await ground.refusal(plugin, localSubjectAccessReviews, { object: review }), '');
  });
});

describe('ServiceAccount', () => {
  const account = (name: string, more: Partial<ServiceAccount> = {}): ServiceAccount => ({
    metadata: { name, namespace: 'default', uid: 'u' },
    ...more,
  });
  function setUp(...accounts: ServiceAccount[]) {
    const ground = new AdmissionGround();
    const clock = new FakeClock();
    ground.reader.put(serviceAccounts, ...accounts);
    return {
      ground,
      clock,
      plugin: createServiceAccountAdmission({ reader: ground.reader, clock, random: seededRandom(3) }),
    };
  }

  it('gives a pod the default account, its pull secrets and a token in each container', async () => {
    const { ground, plugin } = setUp(account('default', { imagePullSecrets: [{ name: 'registry' }] }));
    const { object } = await ground.write(plugin, pods, {
      object: buildPod({ 'spec.initContainers': [{ name: 'i', image: 'x' }] }),
    });
    assert.deepEqual(
      [object?.spec.serviceAccountName, object?.spec.serviceAccount, object?.spec.imagePullSecrets],
      ['default', 'default', [{ name: 'registry' }]],
    );
    const [volume] = object?.spec.volumes ?? [];
    assert.match(volume?.name ?? '', /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.deepEqual(
      volume?.projected?.sources?.map((source) => Object.keys(source)[0]),
      ['serviceAccountToken', 'configMap', 'downwardAPI'],
    );
    const mount = { name: volume?.name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    assert.deepEqual(
      [object?.spec.containers[0]?.volumeMounts, object?.spec.initContainers?.[0]?.volumeMounts],
      [[mount], [mount]],
    );
  });

  it('gives no token to who does not want one: the pod decides, then its account', async () => {
    const { ground, plugin } = setUp(account('default', { automountServiceAccountToken: false }));
    assert.equal((await ground.write(plugin, pods, { object: buildPod() })).object?.spec.volumes, undefined);
    assert.equal(
      (await ground.write(plugin, pods, { object: buildPod({ 'spec.automountServiceAccountToken': true }) })).object
        ?.spec.volumes?.length,
      1,
    );
  });

  it('waits a moment for the account of a new namespace, and for no other', async () => {
    const { ground, clock, plugin } = setUp();
    const late = ground.write(plugin, pods, { object: buildPod() });
    await clock.advance(500);
    ground.reader.put(serviceAccounts, account('default'));
    assert.equal((await late).object?.spec.serviceAccountName, 'default');
    assert.equal(
      await ground.refusal(plugin, pods, { object: buildPod({ 'spec.serviceAccountName': 'robot' }) }),
      'pods "web" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found',
    );
    ground.reader.remove(serviceAccounts, { namespace: 'default', name: 'default' });
    const never = ground.refusal(plugin, pods, { object: buildPod() });
    await clock.advance(1000);
    assert.equal(
      await never,
      'pods "web" is forbidden: error looking up service account default/default: serviceaccount "default" not found',
    );
    assert.equal(ground.reader.listeners, 0);
  });

  it('keeps mirror pods from accounts, secrets and tokens', async () => {
    const { ground, plugin } = setUp(account('default'));
    const mirror = (more: Record<string, unknown>) =>
      ground.refusal(plugin, pods, {
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
    const ground = new AdmissionGround();
    ground.reader.put(priorityClasses, ...classes);
    return { ground, plugin: createPriority(ground.reader) };
  }
  const of = (pod: ReturnType<typeof buildPod> | undefined) => [
    pod?.spec.priorityClassName,
    pod?.spec.priority,
    pod?.spec.preemptionPolicy,
  ];

  it('makes a number of the class, of the default one where none is named', async () => {
    const { ground, plugin } = setUp(
      priorityClass('high', 9, { preemptionPolicy: 'Never' }),
      priorityClass('usual', 3, { globalDefault: true }),
      priorityClass('least', 1, { globalDefault: true }),
    );
    assert.deepEqual(
      of((await ground.write(plugin, pods, { object: buildPod({ 'spec.priorityClassName': 'high' }) })).object),
      ['high', 9, 'Never'],
    );
    assert.deepEqual(of((await ground.write(plugin, pods, { object: buildPod() })).object), [
      'least',
      1,
      'PreemptLowerPriority',
    ]);
    const empty = setUp();
    assert.deepEqual(of((await empty.ground.write(empty.plugin, pods, { object: buildPod() })).object), [
      undefined,
      0,
      'PreemptLowerPriority',
    ]);
  });

  it('refuses a class there is none of, a number of the user’s own, and a second default', async () => {
    const { ground, plugin } = setUp(priorityClass('usual', 3, { globalDefault: true }));
    assert.equal(
      await ground.refusal(plugin, pods, { object: buildPod({ 'spec.priorityClassName': 'x' }) }),
      'pods "web" is forbidden: no PriorityClass with name x was found',
    );
    assert.match(
      await ground.refusal(plugin, pods, { object: buildPod({ 'spec.priority': 7 }) }),
      /the integer value of priority \(7\) must not be provided in pod spec; priority admission controller computed 3 from the given PriorityClass name$/,
    );
    assert.match(
      await ground.refusal(plugin, pods, { object: buildPod({ 'spec.preemptionPolicy': 'Never' }) }),
      /the string value of PreemptionPolicy \(Never\) must not be provided/,
    );
    const second = ground.refusal(plugin, priorityClasses, {
      object: priorityClass('other', 1, { globalDefault: true }),
    });
    assert.match(await second, /PriorityClass usual is already marked as default. Only one default can exist$/);
    assert.equal(
      await ground.refusal(plugin, priorityClasses, {
        object: priorityClass('usual', 3, { globalDefault: true }),
        old: priorityClass('usual', 3),
      }),
      '',
    );
  });

  it('takes an update that leaves the number out for one that keeps it', async () => {
    const { ground, plugin } = setUp();
    const { object } = await ground.write(plugin, pods, {
      object: buildPod(),
      old: buildPod({ 'spec.priority': 5, 'spec.preemptionPolicy': 'Never' }),
    });
    assert.deepEqual(of(object), [undefined, 5, 'Never']);
  });
});

describe('the smaller ones for pods and nodes', () => {
  it('lets pods stay on a failing node for a while, unless they say how long', async () => {
    const ground = new AdmissionGround();
    const plugin = createDefaultTolerationSeconds({ seconds: 300 });
    const added = (key: string) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    });
    assert.deepEqual((await ground.write(plugin, pods, { object: buildPod() })).object?.spec.tolerations, [
      added('not-ready'),
      added('unreachable'),
    ]);
    const own = [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' as const }];
    assert.deepEqual(
      (await ground.write(plugin, pods, { object: buildPod({ 'spec.tolerations': own }) })).object?.spec.tolerations,
      [...own, added('unreachable')],
    );
    const all = buildPod({ 'spec.tolerations': [{ operator: 'Exists' }] });
    assert.equal((await ground.write(plugin, pods, { object: all })).object, all);
  });

  it('keeps pods from a node that nobody has seen ready', async () => {
    const ground = new AdmissionGround();
    const node = { metadata: { name: 'n', namespace: '', uid: '' }, spec: {} };
    const first = (await ground.write(taintNodesByCondition, nodes, { object: node })).object;
    assert.deepEqual(first?.spec?.taints, [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    assert.equal((await ground.write(taintNodesByCondition, nodes, { object: first ?? node })).object, first);
    assert.equal(taintNodesByCondition.handles(ground.attributes(nodes, { object: node, old: node })), false);
  });

  it('adds what a runtime class takes, and refuses one that is not there', async () => {
    const ground = new AdmissionGround();
    ground.reader.put(runtimeClasses, {
      metadata: { name: 'vm', namespace: '', uid: '' },
      handler: 'vm',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { vm: 'yes' } },
    });
    const plugin = createRuntimeClassAdmission(ground.reader);
    const { object } = await ground.write(plugin, pods, { object: buildPod({ 'spec.runtimeClassName': 'vm' }) });
    assert.deepEqual([object?.spec.overhead, object?.spec.nodeSelector], [{ memory: '64Mi' }, { vm: 'yes' }]);
    assert.equal(
      await ground.refusal(plugin, pods, { object: buildPod({ 'spec.runtimeClassName': 'none' }) }),
      'pods "web" is forbidden: pod rejected: RuntimeClass "none" not found',
    );
    assert.notEqual(await ground.refusal(plugin, pods, { object: buildPod({ 'spec.overhead': { cpu: '1' } }) }), '');
  });
});
