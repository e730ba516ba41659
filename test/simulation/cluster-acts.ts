import { nodes, pods } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { ApiStatusError } from '../../src/api/status/api-status-error.ts';
import type { Act, ClusterScenario } from './cluster-scenario.ts';
import { GATE, keyOf } from './cluster-scenario.ts';
import { between, chance, pick } from './manifests.ts';
import { NODE_NAME, paths } from './world.ts';

const anyPod = (scenario: ClusterScenario): Pod | undefined => {
  const own = scenario.own();
  return own.length === 0 ? undefined : pick(scenario.random, own);
};

const startLater = (scenario: ClusterScenario, delayMs: number): void =>
  void scenario.node.clock.setTimer(delayMs, () => {
    if (scenario.node.agent === undefined) scenario.node.start();
  });

const add: Act = (scenario) => (scenario.own().length > 8 ? undefined : `add ${scenario.addPod()}`);

const remove: Act = async (scenario) => {
  const pod = anyPod(scenario);
  if (pod === undefined) return undefined;
  const gracePeriodSeconds = pick(scenario.random, [30, 0, 1, 5]);
  await scenario.api.server.delete(pods, keyOf(pod), { gracePeriodSeconds });
  return `delete ${pod.metadata.name} ${pod.metadata.uid.slice(0, 8)} with grace ${gracePeriodSeconds}`;
};

const replace: Act = (scenario) => {
  const pod = anyPod(scenario);
  if (pod === undefined) return undefined;
  scenario.api.server.remove(pods, keyOf(pod));
  return `replace ${pod.metadata.uid.slice(0, 8)} by ${scenario.addPod(pod.metadata.name)}`;
};

const dropFinalizer: Act = (scenario) => {
  const pod = scenario
    .own()
    .find(({ metadata }) => (metadata.finalizers ?? []).length > 0 && metadata.deletionTimestamp !== undefined);
  if (pod === undefined) return undefined;
  scenario.api.server.change(pods, keyOf(pod), (each) => ({ ...each, metadata: { ...each.metadata, finalizers: [] } }));
  return `no finalizers at ${pod.metadata.name}`;
};

const setGate: Act = (scenario) => {
  const pod = scenario.own().find(({ metadata }) => scenario.plans.get(metadata.uid)?.hasGate === true);
  if (pod === undefined) return undefined;
  const status = pick(scenario.random, ['True', 'False'] as const);
  scenario.api.server.change(
    pods,
    keyOf(pod),
    (each): Pod => ({
      ...each,
      status: {
        ...each.status,
        conditions: [...(each.status?.conditions ?? []).filter(({ type }) => type !== GATE), { type: GATE, status }],
      },
    }),
  );
  return `gate of ${pod.metadata.name} ${status}`;
};

const meddle: Act = (scenario) => {
  const pod = scenario.own().find(({ status }) => status?.phase === 'Running');
  if (pod === undefined) return undefined;
  scenario.api.server.change(
    pods,
    keyOf(pod),
    (each): Pod => ({
      ...each,
      status: {
        ...each.status,
        phase: 'Pending',
        conditions: each.status?.conditions?.map((condition) =>
          condition.type === 'Ready' ? { ...condition, status: 'False' } : condition,
        ),
      },
    }),
  );
  return `a user sets ${pod.metadata.name} to pending`;
};

const outage: Act = (scenario) => {
  if (scenario.api.isAway) return undefined;
  const forMs = pick(scenario.random, [50, 2000, 30_000, 300_000]);
  scenario.api.goAway();
  scenario.node.clock.setTimer(forMs, () => scenario.api.comeBack());
  return `the API server is away for ${forMs} ms`;
};

const storm: Act = (scenario) => {
  const forMs = between(scenario.random, 500, 60_000);
  scenario.api.storm = { share: pick(scenario.random, [0.2, 0.6]), effective: pick(scenario.random, [0, 0.5]) };
  scenario.node.clock.setTimer(forMs, () => (scenario.api.storm = { share: 0, effective: 0 }));
  return `a storm of ${JSON.stringify(scenario.api.storm)} for ${forMs} ms`;
};

const forget: Act = (scenario) => {
  scenario.api.server.compact();
  scenario.api.server.endWatches(new ApiStatusError('Expired', 'too old resource version'));
  return 'the API server forgets the past';
};

const mute: Act = (scenario) => {
  scenario.api.server.muteWatches();
  return 'all watches are half dead';
};

const kill: Act = (scenario) => {
  const awayMs = pick(scenario.random, [0, 500, 5000, 60_000]);
  scenario.node.kill();
  startLater(scenario, awayMs);
  return `kill -9, start after ${awayMs} ms`;
};

const killAtCall: Act = (scenario) => {
  if (scenario.node.agent === undefined) return undefined;
  const step = between(scenario.random, 1, 30);
  const point = pick(scenario.random, ['before', 'during', 'after'] as const);
  scenario.node.dieAt({
    calls:
      /^(patch|delete|create|runSandbox|createContainer|startContainer|stopContainer|stopSandbox|remove|writeFileAtomic|appendFile)$/,
    step,
    point,
  });
  return `kill -9 ${point} the ${step}th write`;
};

/** The agent's records of statuses are lost; the API server still has them. */
const killAndForget: Act = async (scenario) => {
  scenario.node.kill();
  await scenario.node.files.remove(`${paths.state}/statuses.jsonl`);
  startLater(scenario, 500);
  return 'kill -9, and the record of statuses is lost';
};

/**
 * The agent's record of statuses is older than what it has published: it was killed before it wrote the record. If the
 * machine was lost too, the status cannot be recovered.
 */
const killWithOldRecord: Act = async (scenario) => {
  const path = `${paths.state}/statuses.jsonl`;
  const { node, random } = scenario;
  const old = node.files.peek(path);
  if (old === undefined) return undefined;
  await scenario.advance(between(random, 100, 30_000));
  node.kill();
  await node.files.writeFileAtomic(path, old, 0o600);
  if (chance(random, 0.5)) {
    startLater(scenario, 500);
    return 'kill -9, and the record of statuses is old';
  }
  scenario.sweep();
  startLater(scenario, 5000);
  for (const { path: mounted } of node.mounts.mounted.toReversed())
    if (mounted.startsWith(`${paths.root}/pods/`)) await node.mounts.unmount(mounted);
  return 'kill -9, the runtime is emptied, and the record of statuses is old';
};

/** The agent and all processes end, and the kernel's state is lost. */
async function loseMachine(scenario: ClusterScenario): Promise<void> {
  const { node } = scenario;
  node.kill();
  scenario.lose();
  for (const sandbox of node.runtime.sandboxes())
    if (sandbox.ready) node.runtime.killSandbox(sandbox.id, { withContainers: true });
  for (const name of [...node.cgroups.groups.keys()]) node.cgroups.groups.delete(name);
  for (const { path } of node.mounts.mounted.toReversed())
    if (path.startsWith(`${paths.root}/pods/`)) await node.mounts.unmount(path);
}

/** All processes end, and the API server is unreachable for a while. */
const reboot: Act = async (scenario) => {
  const { node, api, random } = scenario;
  await loseMachine(scenario);
  const forMs = pick(random, [0, 30_000, 300_000]);
  if (forMs > 0 && !api.isAway) {
    api.goAway();
    node.clock.setTimer(forMs, () => api.comeBack());
  }
  startLater(scenario, 5000);
  return `reboot, the API server away for ${forMs} ms`;
};

const writeManifest: Act = async (scenario) => {
  const file = pick(scenario.random, ['a', 'b']);
  await scenario.writeManifest(file);
  return `static pod ${file}`;
};

const dropManifest: Act = async (scenario) => {
  const file = [...scenario.manifests.keys()][0];
  if (file === undefined) return undefined;
  await scenario.dropManifest(file);
  return `no static pod ${file}`;
};

const deleteMirror: Act = async (scenario) => {
  const mirror = scenario.mirrors()[0];
  if (mirror === undefined) return undefined;
  await scenario.api.server.delete(pods, keyOf(mirror), {});
  return `delete the mirror ${mirror.metadata.name}`;
};

const deleteNode: Act = (scenario) => {
  scenario.api.server.remove(nodes, { namespace: '', name: NODE_NAME });
  for (const mirror of scenario.mirrors()) scenario.api.server.remove(pods, keyOf(mirror));
  return 'the node object is deleted';
};

/** A pod uses more: one or two such pods cause a shortage of memory or disk space. */
const grow: Act = (scenario) => {
  const pod = anyPod(scenario);
  if (pod === undefined) return undefined;
  const { pressure, random } = scenario;
  const use = chance(random, 0.75)
    ? { memoryBytes: between(random, 3000, 8000) * 2 ** 20, diskBytes: 0 }
    : { memoryBytes: 50 * 2 ** 20, diskBytes: between(random, 30_000, 60_000) * 2 ** 20 };
  pressure.uses.set(pod.metadata.uid, use);
  scenario.wasShort = true;
  return `${pod.metadata.name} ${pod.metadata.uid.slice(0, 8)} uses ${JSON.stringify(use)}`;
};

const relax: Act = ({ pressure }) => {
  pressure.relax();
  return 'pods need little again';
};

const disturbDevices: Act = ({ plugin }) => plugin.disturb();

const cutCheckpoint: Act = async (scenario) => {
  scenario.node.kill();
  await scenario.plugin.damageCheckpoint();
  startLater(scenario, 500);
  return 'kill -9, and the checkpoint of devices is cut';
};

const MOST_SHUTDOWN_MS = 31_000;

/** The machine shuts down in order and starts again; sometimes the shutdown is cancelled. */
const shutDown: Act = async (scenario) => {
  const { node, random } = scenario;
  if (node.login.isPreparing) return undefined;
  scenario.wasShutDown = true;
  node.login.shutDown();
  if (chance(random, 0.3)) {
    await scenario.advance(between(random, 1, MOST_SHUTDOWN_MS));
    scenario.cancelledShutdowns++;
    node.login.cancel();
    return 'a shutdown that is cancelled';
  }
  const beganMs = node.clock.monotonicMs();
  while (!node.login.isDown) {
    await scenario.advance(500);
    if (node.clock.monotonicMs() - beganMs <= MOST_SHUTDOWN_MS) continue;
    scenario.report('the machine waited longer than the agent asked for');
    break;
  }
  await loseMachine(scenario);
  node.login.isPreparing = false;
  node.login.isDown = false;
  startLater(scenario, 5000);
  return `a shutdown that took ${node.clock.monotonicMs() - beganMs} ms`;
};

/** All acts. Acts that are listed several times happen more often. */
export const clusterActs: readonly Act[] = [
  add,
  add,
  add,
  add,
  add,
  remove,
  remove,
  remove,
  replace,
  dropFinalizer,
  setGate,
  meddle,
  outage,
  outage,
  storm,
  storm,
  forget,
  mute,
  kill,
  kill,
  killAndForget,
  killWithOldRecord,
  killAtCall,
  killAtCall,
  reboot,
  grow,
  grow,
  relax,
  disturbDevices,
  disturbDevices,
  cutCheckpoint,
  shutDown,
  writeManifest,
  writeManifest,
  dropManifest,
  deleteMirror,
  deleteNode,
];
