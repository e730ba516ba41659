import type { ErrorKind } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import type { FakeOp } from '../../src/kubelet/ports/testing/fake-runtime-script.ts';
import type { ManifestFolder } from './manifests.ts';
import { between, chance, objectsManifest, pick, randomPod, resized } from './manifests.ts';
import type { DeathPoint } from './killable.ts';
import type { InvariantChecker } from './invariant-checker.ts';
import type { SimulatedNode } from './world.ts';
import { paths } from './world.ts';

const HOUR_MS = 3_600_000;

/**
 * One thing that can happen to the node. Returns a description of what it did, for the trace; undefined if there was
 * nothing it could be done to.
 */
export type Disturbance = (stage: Stage) => Promise<string | undefined> | string | undefined;

export interface Stage {
  readonly node: SimulatedNode;
  readonly manifests: ManifestFolder;
  readonly invariants: InvariantChecker;
  readonly random: Random;
  /** The maximum number of pods in the folder. */
  readonly mostPods: number;
  /** The next version numbers for changed manifests. */
  readonly counter: { pods: number; objects: number };
  /** Functions that end lasting disturbances, such as a full disk. */
  readonly lifts: Set<() => void>;
}

/** A disturbance that lasts for a random time, at most until the scenario heals. */
function lasting(stage: Stage, mostMs: number, lift: () => void): number {
  const forMs = between(stage.random, 1000, mostMs);
  const once = (): void => {
    if (stage.lifts.delete(once)) lift();
  };
  stage.lifts.add(once);
  stage.node.clock.setTimer(forMs, once);
  return forMs;
}

// ---- manifests ----

export const addPod: Disturbance = async ({ manifests, random, counter, mostPods }) => {
  if (manifests.names.length >= mostPods) return undefined;
  const name = `p${counter.pods++}`;
  await manifests.write(
    `${name}.yaml`,
    JSON.stringify(randomPod(random, name)),
    chance(random, 0.3) ? 'in place' : 'atomic',
  );
  return `add ${name}`;
};

const podFiles = (manifests: ManifestFolder): string[] => manifests.names.filter((name) => name !== 'objects.yaml');

const changePod: Disturbance = async ({ manifests, random }) => {
  const files = podFiles(manifests);
  if (files.length === 0) return undefined;
  const file = pick(random, files);
  await manifests.write(
    file,
    JSON.stringify(randomPod(random, file.replace('.yaml', ''))),
    chance(random, 0.3) ? 'in place' : 'atomic',
  );
  return `change ${file}`;
};

/** Changes the resources of a pod without replacing it. */
const resizePod: Disturbance = async ({ manifests, random }) => {
  const files = podFiles(manifests).filter((file) => manifests.text(file)?.includes('"uid":"sized-') === true);
  if (files.length === 0) return undefined;
  const file = pick(random, files);
  const pod = JSON.parse(manifests.text(file) ?? '{}') as Parameters<typeof resized>[0];
  await manifests.write(file, JSON.stringify(resized(pod, between(random, 0, 1000))));
  return `resize ${file}`;
};

const removePod: Disturbance = async ({ manifests, random }) => {
  const files = podFiles(manifests);
  if (files.length === 0) return undefined;
  const file = pick(random, files);
  await manifests.remove(file);
  return `remove ${file}`;
};

const NONSENSE = [
  '{',
  'kind: Pod\nmetadata: [',
  '',
  '\u0000\u0001',
  'apiVersion: v1\nkind: Pod\nmetadata:\n  name: UPPER_CASE\nspec: {}\n',
  'a: &a [*a, *a]\nb: *a\n',
];
const damagePod: Disturbance = async ({ manifests, random }) => {
  const files = podFiles(manifests);
  if (files.length === 0) return undefined;
  const file = pick(random, files);
  await manifests.damage(
    file,
    pick(
      random,
      NONSENSE.filter((text) => text !== ''),
    ),
  );
  return `damage ${file}`;
};

const changeObjects: Disturbance = async ({ manifests, random, counter }) => {
  const without = chance(random, 0.2)
    ? [pick(random, ['settings', 'extra', 'PersistentVolume', 'PersistentVolumeClaim', 'Service'])]
    : [];
  await manifests.write('objects.yaml', objectsManifest(counter.objects++, without));
  return `change the objects${without.length > 0 ? `, without ${without.join()}` : ''}`;
};

// ---- containers and sandboxes ----

const killContainer: Disturbance = ({ node, random }) => {
  const running = node.runtime.containers().filter((container) => container.state === 'running' && !container.dead);
  if (running.length === 0) return undefined;
  const container = pick(random, running);
  node.runtime.killContainer(
    container.id,
    chance(random, 0.3) ? { oomKilled: true } : { exitCode: pick(random, [137, 139, 1, 0]) },
  );
  return `kill ${container.sandbox.config.name}/${container.config.name}`;
};

const killSandbox: Disturbance = ({ node, random }) => {
  const ready = node.runtime.sandboxes().filter((sandbox) => sandbox.ready);
  if (ready.length === 0) return undefined;
  const sandbox = pick(random, ready);
  const withContainers = chance(random, 0.5);
  node.runtime.killSandbox(sandbox.id, { withContainers });
  return `kill the sandbox of ${sandbox.config.name}${withContainers ? ' with its containers' : ''}`;
};

const removeContainer: Disturbance = ({ node, random, invariants }) => {
  const all = node.runtime.containers();
  if (all.length === 0) return undefined;
  const container = pick(random, all);
  invariants.statuses.taken.add(container.id);
  invariants.statuses.takenFrom.add(container.sandbox.config.uid);
  node.runtime.removeContainerByHand(container.id);
  return `remove container ${container.sandbox.config.name}/${container.config.name} (${container.state})`;
};

const removeSandbox: Disturbance = ({ node, random, invariants }) => {
  const all = node.runtime.sandboxes();
  if (all.length === 0) return undefined;
  const sandbox = pick(random, all);
  for (const container of sandbox.containers) invariants.statuses.taken.add(container.id);
  invariants.statuses.takenFrom.add(sandbox.config.uid);
  node.runtime.removeSandboxByHand(sandbox.id);
  return `remove the sandbox of ${sandbox.config.name} (${sandbox.ready ? 'ready' : 'dead'})`;
};

// ---- the runtime ----

const WRITES: readonly FakeOp[] = [
  'runSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'stopSandbox',
  'removeSandbox',
  'pullImage',
];
const READS: readonly FakeOp[] = [
  'listSandboxes',
  'listContainers',
  'sandboxStatus',
  'containerStatus',
  'status',
  'imageStatus',
  'execSync',
];
const ERRORS: readonly ErrorKind[] = ['Unavailable', 'Internal', 'Timeout', 'Unavailable'];

const callFault: Disturbance = ({ node, random, invariants }) => {
  const { runtime } = node;
  const op = pick(random, chance(random, 0.65) ? WRITES : READS);
  const times = between(random, 1, 3);
  if (op === 'execSync')
    invariants.execDisturbedUntilMs = Math.max(invariants.execDisturbedUntilMs, node.clock.monotonicMs() + 10 * 60_000);
  const how = pick(random, ['fail', 'hang', 'late', 'delay', 'stale']);
  switch (how) {
    case 'fail': {
      const kind = pick(random, ERRORS);
      runtime.fail(op, { kind, times });
      return `${op} fails ${times} times with ${kind}`;
    }
    case 'hang':
      // The agent sets no deadline for a pull: the runtime aborts it when it makes no progress for a long time.
      if (op === 'pullImage') runtime.delay(op, 120_000, { times });
      else runtime.hang(op, { times, keepsNameMs: chance(random, 0.5) ? between(random, 0, 30_000) : 0 });
      return `${op} hangs ${times} times`;
    case 'late': {
      const effectAfterMs = chance(random, 0.5) ? between(random, 0, 20_000) : 0;
      runtime.lateSuccess(op, { times, effectAfterMs });
      return `${op} succeeds late ${times} times, after ${effectAfterMs} ms`;
    }
    case 'delay': {
      const ms = between(random, 10, 20_000);
      runtime.delay(op, ms, { times });
      return `${op} is delayed ${times} times by ${ms} ms`;
    }
    default: {
      const read = pick(
        random,
        READS.filter((candidate) => candidate !== 'execSync'),
      );
      runtime.staleRead(read, between(random, 10, 3000), { times });
      return `${read} is stale ${times} times`;
    }
  }
};

const eventFault: Disturbance = ({ node, random }) => {
  const { events } = node.runtime;
  const times = between(random, 1, 6);
  switch (pick(random, ['drop', 'duplicate', 'delay', 'reorder', 'disconnect', 'unsupported'])) {
    case 'drop':
      events.drop(times);
      return `drop ${times} events`;
    case 'duplicate':
      events.duplicate(times);
      return `duplicate ${times} events`;
    case 'delay':
      events.delay(between(random, 10, 20_000), times);
      return `delay ${times} events`;
    case 'reorder':
      events.reorder(between(random, 2, 5));
      return 'reorder events';
    case 'disconnect':
      events.disconnect();
      return 'break the event streams';
    default:
      events.unsupported('cri', chance(random, 0.5));
      events.unsupported('containerd', chance(random, 0.3));
      events.disconnect();
      return 'another runtime version, with other event services';
  }
};

const restartRuntime: Disturbance = ({ node, random }) => {
  if (node.runtime.isDown) return undefined;
  const downMs = chance(random, 0.2) ? between(random, 30_000, 200_000) : between(random, 10, 5000);
  const containers = chance(random, 0.15) ? 'exit' : 'survive';
  node.runtime.restart({ downMs, containers });
  return `the runtime restarts, down for ${downMs} ms, containers ${containers}`;
};

const breakNetwork: Disturbance = (stage) => {
  const { node, random } = stage;
  if (chance(random, 0.5)) {
    node.runtime.setHealth({
      networkReady: { ok: false, reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' },
    });
    return `no CNI for ${lasting(stage, 30_000, () => node.runtime.setHealth({ networkReady: { ok: true, reason: '', message: '' } }))} ms`;
  }
  node.network.broken = true;
  return `no packets for ${lasting(stage, 10_000, () => (node.network.broken = false))} ms`;
};

// ---- disk ----

const breakDisk: Disturbance = (stage) => {
  const { node, random } = stage;
  const below = pick(random, [paths.root, paths.root, paths.logs, `${paths.root}/pods`, paths.state, paths.manifests]);
  const how = pick(random, ['full', 'read-only', 'EIO']);
  const lift =
    how === 'full'
      ? node.files.fillDisk(below)
      : how === 'read-only'
        ? node.files.makeReadOnly(below)
        : node.files.failIo(below);
  if (below === paths.root || below === paths.state) stage.invariants.stateLostMs = Number.POSITIVE_INFINITY;
  return `${how} below ${below} for ${lasting(stage, 60_000, lift)} ms`;
};

const loseState = async ({ node, random, invariants }: Stage): Promise<string> => {
  invariants.stateLostMs = Number.POSITIVE_INFINITY;
  // While the disk itself fails there is nothing to damage.
  const names = await node.files.list(paths.state).catch(() => []);
  const said: string[] = [];
  for (const name of names) {
    const path = `${paths.state}/${name}`;
    const text = node.files.peek(path) ?? '';
    const how = pick(random, ['leave', 'remove', 'truncate', 'zero', 'flip', 'empty']);
    if (how === 'leave') continue;
    said.push(`${how} ${name}`);
    if (how === 'remove') await node.files.remove(path).catch(() => undefined);
    if (how === 'truncate') node.files.seed({ [path]: text.slice(0, between(random, 0, text.length)) });
    if (how === 'zero') node.files.seed({ [path]: '\0'.repeat(text.length) });
    if (how === 'empty') node.files.seed({ [path]: '' });
    if (how === 'flip') {
      const at = between(random, 0, Math.max(0, text.length - 1));
      node.files.seed({
        [path]: `${text.slice(0, at)}${String.fromCharCode(text.charCodeAt(at) ^ 1)}${text.slice(at + 1)}`,
      });
    }
  }
  return said.join(', ');
};

// ---- the clock ----

const stepWall: Disturbance = ({ node, random }) => {
  const byMs = pick(random, [
    HOUR_MS,
    -HOUR_MS,
    60_000,
    -60_000,
    -node.clock.nowMs() + 60_000,
    Date.UTC(2026, 0, 1) - node.clock.nowMs(),
  ]);
  node.clock.stepWall(byMs);
  return `step the wall clock by ${Math.round(byMs / 1000)} s`;
};

// ---- the agent ----

function startSoon(stage: Stage): number {
  const afterMs = chance(stage.random, 0.7) ? between(stage.random, 0, 2000) : between(stage.random, 2000, 60_000);
  stage.node.clock.setTimer(afterMs, () => {
    if (stage.node.agent === undefined) stage.node.start();
  });
  return afterMs;
}

const killAgent: Disturbance = async (stage) => {
  stage.node.kill();
  const damage = chance(stage.random, 0.3) ? await loseState(stage) : '';
  return `kill -9, start after ${startSoon(stage)} ms; ${damage}`;
};

const terminateAgent: Disturbance = (stage) => {
  const { node } = stage;
  if (node.agent === undefined) return undefined;
  const { agent } = node;
  void node.terminate();
  const forcedMs = between(stage.random, 1000, 90_000);
  node.clock.setTimer(forcedMs, () => {
    agent.life.end();
    if (node.agent === undefined) node.start();
  });
  return `SIGTERM, started again (and killed first if need be) after ${forcedMs} ms`;
};

const POINTS: readonly DeathPoint[] = ['before', 'during', 'after'];
const GATED =
  /^(runSandbox|createContainer|startContainer|stopContainer|removeContainer|stopSandbox|removeSandbox|write.*|appendFile|makeDirectory|remove.*|rename|symlink|ensure|mountTmpfs|unmount)$/;

const killAtCall: Disturbance = (stage) => {
  const { node, random } = stage;
  let left = between(random, 1, 40);
  const point = pick(random, POINTS);
  const said = `kill -9 ${point} the ${left}th write from now`;
  node.gate = (_port, method) => {
    if (!GATED.test(method) || --left > 0) return undefined;
    node.gate = () => undefined;
    startSoon(stage);
    return point;
  };
  return said;
};

const vanishCgroup: Disturbance = ({ node, random, invariants }) => {
  const pods = [...node.cgroups.groups.keys()].filter((name) => /\/pod[^/]+$/.test(name));
  if (pods.length === 0) return undefined;
  const name = pick(random, pods);
  node.cgroups.vanish(name);
  invariants.cgroupLost.add(name.replace(/^.*\/pod/, ''));
  return `remove cgroup ${name}`;
};

/** All disturbances with their relative frequencies. */
export const disturbances: readonly (readonly [number, string, Disturbance])[] = [
  [12, 'manifests', addPod],
  [8, 'manifests', changePod],
  [5, 'manifests', removePod],
  [8, 'resizes', resizePod],
  [3, 'manifests', damagePod],
  [4, 'manifests', changeObjects],
  [12, 'containers', killContainer],
  [4, 'containers', killSandbox],
  [3, 'containers', removeContainer],
  [2, 'containers', removeSandbox],
  [16, 'calls', callFault],
  [8, 'events', eventFault],
  [4, 'runtime', restartRuntime],
  [3, 'network', breakNetwork],
  [4, 'disk', breakDisk],
  [4, 'clock', stepWall],
  [8, 'agent', killAgent],
  [4, 'agent', terminateAgent],
  [8, 'agent', killAtCall],
  [1, 'cgroups', vanishCgroup],
];
