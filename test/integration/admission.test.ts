// Which pods the node accepts: by its labels, ports and resources, for critical pods, and by an operator's hook; and
// that running pods are never checked again.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { freePort } from '../../src/up/agent.ts';
import { pause, waitUntil } from '../../src/up/processes.ts';
import { podName, TestAgent } from './support/agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import { container, pod, thenSleep } from './support/manifests.ts';

let containerd: TestContainerd;
let agent: TestAgent;
let folder: string;
const args: string[] = [];

const CORES = cpus().length;
/** One CPU is allocatable for pods, whatever the machine has. */
const config = { kubeReserved: { cpu: String(CORES - 1) }, maxPods: 20 };

before(async () => {
  containerd = await startContainerd({ name: 'admission' });
  folder = join(containerd.instance.dataDir, 'operator');
  mkdirSync(join(folder, 'hooks'), { recursive: true });
  // Called for every pod that has not run yet; holds pods named held-… until a file exists.
  const script = `#!/bin/sh
echo "$POD_NAME" >> ${folder}/asked
case "$POD_NAME" in
held-*) [ -e ${folder}/ready ] || echo '{"decision":"hold","message":"the driver is not loaded","watch":["${folder}/ready"],"retryAfterSeconds":60}' ;;
barred-*) echo '{"decision":"reject","reason":"NoGpu","message":"this node has no GPU"}' ;;
esac
`;
  writeFileSync(join(folder, 'hooks', '10-driver'), script, { mode: 0o755 });
  args.push('--node-labels', 'disk=ssd', '--admission-hooks-dir', join(folder, 'hooks'));
  agent = await TestAgent.start(containerd, { config, args });
});
after(async () => {
  try {
    await agent?.stop();
  } finally {
    await containerd?.stop();
  }
});

const asking = (cpu: string, rest: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...rest,
  containers: [container('main', { resources: { requests: { cpu } } })],
});
const asked = (name: string): number =>
  existsSync(join(folder, 'asked'))
    ? readFileSync(join(folder, 'asked'), 'utf8')
        .split('\n')
        .filter((line) => line === podName(name)).length
    : 0;
const verdictOf = ({ status }: Pod): unknown[] => [status?.phase, status?.reason, status?.message];
const rejected = (name: string): Promise<Pod> =>
  agent.waitFor(
    name,
    'rejected',
    ({ status }) => status?.phase === 'Failed' && status.message?.startsWith('Pod was rejected: ') === true,
  );

async function sandboxesOf(name: string): Promise<number> {
  const { items } = await containerd.cri.runtime.listPodSandbox({});
  return items.filter((item) => item.metadata?.name === podName(name)).length;
}

test('a pod whose host port is in use is rejected, and the running pod keeps the port', async () => {
  const hostPort = await freePort(0);
  const ports = [{ containerPort: 80, hostPort }];
  const first = await agent.run(pod('port-first', { containers: [container('main', { ports })] }));
  agent.writeManifest('port-second', pod('port-second', { containers: [container('main', { ports })] }));
  const second = await rejected('port-second');
  assert.deepEqual(verdictOf(second), [
    'Failed',
    'NodePorts',
    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  ]);
  assert.deepEqual(
    [second.status?.containerStatuses, second.status?.podIP, await sandboxesOf('port-second')],
    [undefined, undefined, 0],
  );
  assert.equal(agent.pod('port-first').metadata.uid, first.metadata.uid);
  const { timeline } = await agent.explained('port-second', 'that it is over', (now) => now.settled);
  assert.deepEqual(
    timeline.filter((entry) => entry.reason === 'NodePorts').map(({ type, count }) => [type, count]),
    [['Warning', 1]],
  );
  await agent.remove('port-first', 'port-second');
});

test('a pod that asks for more than there is does not run; with a manifest that asks for less it does', async () => {
  agent.writeManifest('big', pod('big', asking('1500m')));
  assert.deepEqual(verdictOf(await rejected('big')), [
    'Failed',
    'OutOfcpu',
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 0, capacity: 1000",
  ]);
  agent.writeManifest('big', pod('big', asking('600m')));
  await agent.ready('big');
  agent.writeManifest('next', pod('next', asking('500m')));
  assert.match(String(verdictOf(await rejected('next'))[2]), /cpu, requested: 500, used: 600, capacity: 1000$/);
  await agent.remove('big', 'next');
});

test('terminated pods use no resources, also after a restart of the agent', async () => {
  for (const name of ['task-one', 'task-two']) {
    agent.writeManifest(
      name,
      pod(name, {
        restartPolicy: 'Never',
        containers: [container('main', { command: ['true'], resources: { requests: { cpu: '950m' } } })],
      }),
    );
    await agent.phase(name, 'Succeeded');
  }
  await agent.run(pod('after-tasks', asking('900m')));
  const id = agent.pod('after-tasks').status?.containerStatuses?.[0]?.containerID;
  await agent.restart('SIGKILL');
  await agent.ready('after-tasks');
  assert.equal(agent.pod('after-tasks').status?.containerStatuses?.[0]?.containerID, id);
  await Promise.all(['task-one', 'task-two'].map((name) => agent.phase(name, 'Succeeded')));
  await agent.remove('task-one', 'task-two', 'after-tasks');
});

test('the default limits of a container are the allocatable of the node, not the capacity of the machine', async () => {
  const env = [{ name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } }];
  const volumes = ['cpu', 'memory', 'ephemeral-storage'].map((name) => ({
    path: name,
    resourceFieldRef: {
      containerName: 'main',
      resource: `limits.${name}`,
      ...(name === 'cpu' ? { divisor: '1m' } : {}),
    },
  }));
  await agent.run(
    pod('offers', {
      volumes: [{ name: 'v', downwardAPI: { items: volumes } }],
      containers: [container('main', { env, volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
    }),
  );
  assert.equal(await agent.inside('offers', 'echo $CPU'), '1000');
  assert.match(
    await agent.inside('offers', 'cat /v/cpu; echo; cat /v/memory; echo; cat /v/ephemeral-storage'),
    /^1000\n[1-9]\d{7,}\n[1-9]\d{7,}$/,
  );
  await agent.remove('offers');
});

test('the labels of the node decide, and a static pod they kept out gets its chance when the agent starts with others', async () => {
  await agent.run(pod('on-ssd', { nodeSelector: { disk: 'ssd', 'kubernetes.io/os': 'linux' } }));
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
    },
  };
  agent.writeManifest('in-zone', pod('in-zone', { affinity: { nodeAffinity } }));
  assert.deepEqual(verdictOf(await rejected('in-zone')), [
    'Failed',
    'NodeAffinity',
    "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  ]);
  const uid = agent.pod('on-ssd').status?.containerStatuses?.[0]?.containerID;
  args[1] = 'zone=a';
  await agent.restart();
  await Promise.all(['in-zone', 'on-ssd'].map((name) => agent.ready(name)));
  // The label that brought it here is gone, and it runs on.
  assert.equal(agent.pod('on-ssd').status?.containerStatuses?.[0]?.containerID, uid);
  args[1] = 'disk=ssd';
  await agent.restart();
  await Promise.all(['in-zone', 'on-ssd'].map((name) => agent.ready(name)));
  await agent.remove('on-ssd', 'in-zone');
});

test('a critical pod gets the room of one that is not, once nothing of that runs any more', async () => {
  await agent.run(
    pod('cheap', {
      ...asking('700m'),
      containers: [container('main', { resources: { requests: { cpu: '700m' } }, command: thenSleep('true') })],
    }),
  );
  await agent.run(pod('small', asking('100m')));
  agent.writeManifest('vital', pod('vital', asking('800m', { priorityClassName: 'system-node-critical' })));
  const victim = await agent.waitFor('cheap', 'preempted', ({ status }) => status?.reason === 'Preempting');
  await agent.ready('vital');
  assert.deepEqual(
    [victim.status?.phase, victim.status?.message],
    ['Failed', 'Preempted in order to admit critical pod'],
  );
  const condition = victim.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.message],
    ['True', 'TerminationByKubelet', 'Pod was preempted by Kubelet to accommodate a critical pod.'],
  );
  const { timeline } = await agent.explained('cheap', 'the event', (now) =>
    now.timeline.some((entry) => entry.reason === 'Preempting'),
  );
  assert.ok(
    timeline.some((entry) => entry.type === 'Warning' && entry.message === 'Preempted in order to admit critical pod'),
  );
  const { containers } = await containerd.cri.runtime.listContainers({});
  assert.equal(
    containers.some((item) => item.labels['io.kubernetes.pod.name'] === podName('cheap') && item.state === 1),
    false,
  );
  assert.equal(agent.pod('small').status?.phase, 'Running');
  await agent.remove('cheap', 'small', 'vital');
});

test('a pod held by a hook reports it, uses no resources, survives a restart of the agent, and starts when the hook admits it', async () => {
  agent.writeManifest('held-one', pod('held-one', asking('800m')));
  const isHeld = ({ status }: Pod): boolean =>
    status?.reason === 'AdmissionHeld' && status.message?.endsWith('not loaded') === true;
  const held = await agent.waitFor('held-one', 'held', isHeld);
  assert.deepEqual(verdictOf(held), [
    'Pending',
    'AdmissionHeld',
    'held by admission hooks: 10-driver: the driver is not loaded',
  ]);
  const { blockers } = await agent.explained('held-one', 'who holds it', (now) => now.blockers.length > 0);
  assert.deepEqual(
    blockers.map(({ step, cause, lastError }) => [step, cause, lastError]),
    [['be admitted to the node by admission hooks', '10-driver: the driver is not loaded', undefined]],
  );
  assert.ok(blockers[0]?.nextTryAtMs !== undefined && blockers[0].sinceMs > 0);
  assert.match((await agent.cli('pods')).stdout, /held-one-node +0\/1 +AdmissionHeld/);
  await agent.run(pod('passes', asking('800m')));
  await agent.remove('passes');
  await agent.restart('SIGKILL');
  await agent.waitFor('held-one', 'held', isHeld);
  assert.equal(await sandboxesOf('held-one'), 0);
  writeFileSync(join(folder, 'ready'), '');
  const ready = await agent.ready('held-one');
  assert.deepEqual(verdictOf(ready), ['Running', undefined, undefined]);
  agent.writeManifest('barred', pod('barred-one'));
  assert.deepEqual(
    verdictOf(await agent.waitFor('barred-one', 'rejected', ({ status }) => status?.phase === 'Failed')),
    ['Failed', 'NoGpu', 'Pod was rejected: this node has no GPU'],
  );
  agent.removeManifest('barred');
  await Promise.all([agent.gone('barred-one'), agent.remove('held-one')]);
});

test('a running pod is never admitted again: not after the agent was killed, nor with other labels, taints, resources, hooks, or without its records', async () => {
  await agent.run(pod('stays', asking('500m', { nodeSelector: { disk: 'ssd' } })));
  await agent.run(
    pod('stays-too', {
      containers: [container('main', { ports: [{ containerPort: 80, hostPort: await freePort(0) }] })],
    }),
  );
  const names = ['stays', 'stays-too'];
  const facts = (): unknown[] =>
    names.map((name) => [
      agent.pod(name).metadata.uid,
      agent.pod(name).status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
    ]);
  const before = facts();
  const timesAsked = names.map(asked);
  assert.deepEqual(timesAsked, [1, 1]);
  appendFileSync(join(folder, 'hooks', '10-driver'), 'exit 3\n');
  agent.writeConfig({
    ...config,
    maxPods: 1,
    kubeReserved: { cpu: `${CORES * 1000 - 100}m` },
    registerWithTaints: [{ key: 'maintenance', effect: 'NoExecute' }],
  });
  args[1] = 'disk=hdd';
  const from = agent.watch.history.length;
  await agent.restart('SIGKILL');
  for (const [record, content] of [
    ['admitted.json', '{"checksum":"x"'],
    ['statuses.jsonl', ''],
  ] as const) {
    await agent.kill9();
    writeFileSync(join(agent.rootDir, 'agent-state', record), content);
    await agent.start();
  }
  agent.writeManifest('newcomer', pod('newcomer'));
  assert.equal(verdictOf(await rejected('newcomer'))[1], 'OutOfpods');
  await Promise.all(names.map((name) => agent.ready(name)));
  await pause(500);
  assert.deepEqual(facts(), before);
  assert.deepEqual(names.map(asked), timesAsked);
  const flapped = agent.watch.history
    .slice(from)
    .filter(
      (change) =>
        names.map(podName).includes(change.pod.metadata.name) &&
        (change.type === 'DELETED' || change.pod.status?.phase !== 'Running'),
    );
  assert.deepEqual(
    flapped.map(({ type, pod: seen }) => [type, seen.metadata.name, seen.status?.phase]),
    [],
  );
  for (const record of ['admitted.json', 'statuses.jsonl'])
    assert.ok(
      await waitUntil(() => existsSync(join(agent.rootDir, 'agent-state', `${record}.corrupt`)), 5000),
      `the corrupt ${record} was not set aside`,
    );
  await agent.remove('newcomer', ...names);
});

test('an agent that reserves more than the capacity does not start, and reports the reason', async () => {
  agent.writeConfig({ ...config, kubeReserved: { cpu: String(CORES + 1) } });
  await agent.term();
  const { code, stderr } = await agent.spawnSecond();
  assert.notEqual(code, 0);
  assert.match(
    stderr,
    new RegExp(
      `invalid Node Allocatable configuration\\. Resource "cpu" has a reservation of ${CORES + 1} but capacity of ${CORES}\\. Expected capacity >= reservation\\.`,
    ),
  );
  agent.writeConfig(config);
  await agent.start();
});
