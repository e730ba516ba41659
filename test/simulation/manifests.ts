import type { Pod } from '../../src/api/core/pod.ts';
import { isKind } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import { readManifest } from '../../src/kubelet/features/pod-config/manifest-reader.ts';
import type { Behaviour } from './containers.ts';
import { probeTypes } from './containers.ts';
import { portOf } from './network.ts';
import type { SimulatedNode } from './world.ts';
import { IMAGES, NODE_NAME, paths } from './world.ts';

type Json = Record<string, unknown>;

export const chance = (random: Random, share: number): boolean => random.next() < share;
export const between = (random: Random, low: number, high: number): number =>
  low + Math.floor(random.next() * (high - low + 1));
export function pick<T>(random: Random, from: readonly T[]): T {
  const chosen = from[Math.floor(random.next() * from.length)];
  if (chosen === undefined) throw new Error('nothing to pick from');
  return chosen;
}

const CONFIG_NAMES = ['settings', 'tuning', 'extra'];
const SECRET_NAMES = ['token', 'password'];

/** A manifest with all objects that pods may use; each value contains `version`. */
export function objectsManifest(version: number, without: readonly string[] = []): string {
  const configs = CONFIG_NAMES.filter((name) => !without.includes(name)).map((name) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    data: { key: `${name}-${version}` },
  }));
  const secrets = SECRET_NAMES.map((name) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default' },
    stringData: { key: `${name}-${version}` },
  }));
  const claimed = CLAIMED.filter(({ kind }) => !without.includes(String(kind)));
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop', namespace: 'default' },
    spec: { clusterIP: `10.96.0.${1 + (version % 250)}`, ports: [{ port: 80 }] },
  };
  const services = without.includes('Service') ? [] : [service];
  return [...configs, ...secrets, ...claimed, ...services, HEAVY]
    .map((object) => JSON.stringify(object))
    .join('\n---\n');
}

/** The overhead of a pod with the runtime class `heavy`. */
export const HEAVY_OVERHEAD = { cpu: '50m', memory: '8Mi' };
const HEAVY: Json = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: 'heavy' },
  handler: 'heavy',
  overhead: { podFixed: HEAVY_OVERHEAD },
};

const sharing = { accessModes: ['ReadWriteMany'], storageClassName: '' };
/** A folder of the node as a volume with a claim. */
const CLAIMED: readonly Json[] = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { ...sharing, resources: { requests: { storage: '1Mi' } }, volumeName: 'data' },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'data' },
    spec: {
      ...sharing,
      capacity: { storage: '1Mi' },
      local: { path: paths.hostData },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] }],
        },
      },
    },
  },
];

interface ContainerPlan {
  readonly name: string;
  readonly index: number;
  readonly behaviour: Behaviour;
  readonly probes?: Json;
  readonly restartPolicy?: 'Always';
  readonly mounts?: Json[];
}

function containerOf(random: Random, plan: ContainerPlan): Json {
  const ports = probeTypes.map((type) => portOf(plan.index, type)).join(',');
  return {
    name: plan.name,
    image: chance(random, 0.1) ? `docker.io/library/pulled:${between(random, 1, 5)}` : pick(random, IMAGES),
    command: ['simulate'],
    args: [JSON.stringify(plan.behaviour)],
    env: [{ name: 'PORTS', value: ports }],
    ...(plan.restartPolicy === undefined ? {} : { restartPolicy: plan.restartPolicy }),
    ...(plan.mounts === undefined ? {} : { volumeMounts: plan.mounts }),
    ...plan.probes,
  };
}

function probeOf(
  random: Random,
  type: (typeof probeTypes)[number],
  target: { index: number; hostNetwork: boolean },
): Json {
  const handler = target.hostNetwork ? 'exec' : pick(random, ['exec', 'http', 'tcp']);
  const port = portOf(target.index, type);
  const how: Json =
    handler === 'exec'
      ? { exec: { command: ['probe', type] } }
      : handler === 'http'
        ? { httpGet: { path: `/${type}`, port } }
        : { tcpSocket: { port } };
  return {
    ...how,
    periodSeconds: between(random, 1, 10),
    failureThreshold: type === 'startup' ? 30 : between(random, 1, 3),
    timeoutSeconds: between(random, 1, 2),
    initialDelaySeconds: chance(random, 0.2) ? between(random, 1, 10) : 0,
  };
}

function probesOf(random: Random, target: { index: number; hostNetwork: boolean }, behaviour: Behaviour): Json {
  const probes: Json = {};
  if (chance(random, 0.6)) probes['readinessProbe'] = probeOf(random, 'readiness', target);
  if (chance(random, 0.4) || behaviour.livenessFailsAfterMs !== undefined)
    probes['livenessProbe'] = probeOf(random, 'liveness', target);
  if (chance(random, 0.2)) probes['startupProbe'] = probeOf(random, 'startup', target);
  return probes;
}

function serverBehaviour(random: Random): Behaviour {
  const behaviour: Behaviour = {};
  if (chance(random, 0.5)) behaviour.readyAfterMs = between(random, 0, 8000);
  if (chance(random, 0.3)) behaviour.startedAfterMs = between(random, 0, 5000);
  if (chance(random, 0.15)) behaviour.readyFlapMs = between(random, 20_000, 120_000);
  if (chance(random, 0.1)) behaviour.livenessFailsAfterMs = between(random, 5000, 200_000);
  if (chance(random, 0.1)) behaviour.probesHang = true;
  if (chance(random, 0.15))
    Object.assign(behaviour, {
      faulty: true,
      exitAfterMs: between(random, 50, 90_000),
      exitCode: pick(random, [0, 1, 2, 137]),
      oom: chance(random, 0.2),
    });
  if (chance(random, 0.3)) behaviour.stopMs = between(random, 1, 12_000);
  if (chance(random, 0.08)) behaviour.ignoresTerm = true;
  if (chance(random, 0.04)) behaviour.failStart = true;
  return behaviour;
}

function taskBehaviour(random: Random, restartPolicy: string): Behaviour {
  const fails = chance(random, 0.25);
  return {
    exitAfterMs: between(random, 10, 20_000),
    exitCode: fails ? 1 : 0,
    task: true,
    ...(fails && restartPolicy === 'OnFailure' ? { faulty: true } : {}),
  };
}

function initBehaviour(random: Random): Behaviour {
  return { exitAfterMs: between(random, 10, 6000), exitCode: 0, task: true };
}

function volumesOf(random: Random): { volumes: Json[]; mounts: Json[] } {
  const volumes: Json[] = [];
  if (chance(random, 0.4))
    volumes.push({ name: 'scratch', emptyDir: chance(random, 0.4) ? { medium: 'Memory', sizeLimit: '1Mi' } : {} });
  if (chance(random, 0.4)) volumes.push({ name: 'config', configMap: { name: pick(random, CONFIG_NAMES) } });
  if (chance(random, 0.25)) volumes.push({ name: 'secret', secret: { secretName: pick(random, SECRET_NAMES) } });
  if (chance(random, 0.15))
    volumes.push({
      name: 'host',
      hostPath: { path: `${paths.hostData}/dir-${between(random, 1, 3)}`, type: 'DirectoryOrCreate' },
    });
  // By what else there is, so that chance goes on as it would without.
  if (volumes.length === 2) volumes.push({ name: 'claimed', persistentVolumeClaim: { claimName: 'data' } });
  const whole = volumes.map((volume) => ({ name: volume['name'], mountPath: `/mnt/${String(volume['name'])}` }));
  // Parts of the volumes that a pod may write to. They are chosen without a random number, so that later random choices
  // stay the same.
  const parts = volumes
    .filter(({ name }) => name === 'scratch' || name === 'host')
    .map(({ name }) => ({ name, mountPath: `/part/${String(name)}`, subPath: 'some/part' }));
  return { volumes, mounts: [...whole, ...parts] };
}

const sumOf = (name: string): number => [...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);

/**
 * Gives some pods user namespaces, and others a runtime class. Chosen by name, without a random number, so that later
 * random choices stay the same.
 */
function runsAs(name: string): Json {
  return sumOf(name) % 5 === 0 ? { hostUsers: false } : sumOf(name) % 4 === 1 ? { runtimeClassName: 'heavy' } : {};
}

/**
 * Adds hooks that sleep, chosen by name, and a variable from a file that the first init container writes (world.ts).
 */
function withExtras(
  name: string,
  {
    initContainers,
    containers,
    volumes,
  }: Readonly<Record<'initContainers' | 'containers' | 'volumes', readonly Json[]>>,
): Json[] {
  const lifecycle =
    sumOf(name) % 3 === 1
      ? { lifecycle: { postStart: { sleep: { seconds: 1 } }, preStop: { sleep: { seconds: 1 } } } }
      : {};
  const isWritten = initContainers[0]?.['name'] === 'init0' && volumes.some((volume) => volume['name'] === 'scratch');
  const fromFile = isWritten
    ? [{ name: 'FROM_FILE', valueFrom: { fileKeyRef: { volumeName: 'scratch', path: 'vars', key: 'KEY' } } }]
    : [];
  return containers.map((container) => ({
    ...container,
    ...lifecycle,
    env: [...(container['env'] as Json[]), ...fromFile],
  }));
}

/**
 * Gives some pods resources, and a uid that stays the same while only the resources change. Chosen by content, without
 * a random number.
 */
function sized(pod: Json & { metadata: Json; spec: Json & { containers: Json[] } }): Json {
  const text = JSON.stringify(pod);
  let hash = 7;
  for (let index = 0; index < text.length; index++) hash = (hash * 31 + text.charCodeAt(index)) % 1_000_003;
  if (hash % 3 !== 0) return pod;
  pod.metadata['uid'] = `sized-${hash}-${text.length}`;
  return resized(pod, hash);
}

/** The same pod with other limits for CPU and memory, chosen by the number. */
export function resized(pod: Json & { spec: Json & { containers: Json[] } }, number: number): Json {
  const containers = pod.spec.containers.map((container, index) => ({
    ...container,
    resources: {
      requests: { cpu: `${1 + (number % 7)}m`, memory: '1Mi' },
      limits: { cpu: `${20 + (number % 11) * 10 + index}m`, memory: `${16 + (number % 13) * 4}Mi` },
    },
  }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** A random pod. The behaviour of its containers is encoded in their arguments. */
export function randomPod(random: Random, name: string): Json {
  return sized(plainPod(random, name));
}

function plainPod(random: Random, name: string): Json & { metadata: Json; spec: Json & { containers: Json[] } } {
  const restartPolicy = pick(random, ['Always', 'Always', 'Always', 'Always', 'OnFailure', 'Never']);
  const hostNetwork = chance(random, 0.1);
  const { volumes, mounts } = volumesOf(random);
  let index = 0;
  const initContainers: Json[] = [];
  while (chance(random, 0.25) && index < 3)
    initContainers.push(
      containerOf(random, { name: `init${index}`, index: index++, behaviour: initBehaviour(random), mounts }),
    );
  if (chance(random, 0.2)) {
    const behaviour: Behaviour = { stopMs: between(random, 1, 3000) };
    initContainers.push(
      containerOf(random, {
        name: 'sidecar',
        index,
        behaviour,
        restartPolicy: 'Always',
        mounts,
        probes: probesOf(random, { index: index++, hostNetwork }, behaviour),
      }),
    );
  }
  const containers: Json[] = [];
  for (let count = pick(random, [1, 1, 1, 2, 3]); count > 0; count--) {
    const isTask = restartPolicy !== 'Always';
    const behaviour = isTask ? taskBehaviour(random, restartPolicy) : serverBehaviour(random);
    containers.push(
      containerOf(random, {
        name: `main${index}`,
        index,
        behaviour,
        mounts,
        ...(isTask ? {} : { probes: probesOf(random, { index, hostNetwork }, behaviour) }),
      }),
    );
    index++;
  }
  const grace = pick(random, [1, 2, 5, 30]);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: grace,
      ...(hostNetwork ? { hostNetwork } : runsAs(name)),
      ...(initContainers.length > 0 ? { initContainers } : {}),
      containers: withExtras(name, { initContainers, containers, volumes }),
      ...(volumes.length > 0 ? { volumes } : {}),
    },
  };
}

interface ManifestFile {
  readonly pods: readonly Pod[];
  readonly text: string;
  /** When the content of the file was damaged; its pods come from the content before that. */
  brokenAtMs: number | undefined;
}

/** The manifest folder, as the operator of the simulated node changes it, and the pods that it defines. */
export class ManifestFolder {
  readonly #node: SimulatedNode;
  readonly #files = new Map<string, ManifestFile>();
  /** The monotonic time at which a pod was last unwanted; absent if it was wanted from its creation on. */
  readonly #unwantedMs = new Map<string, number>();

  constructor(node: SimulatedNode) {
    this.#node = node;
  }

  /** Writes a valid manifest, at once or in several writes. False if the disk refuses it. */
  async write(file: string, text: string, manner: 'atomic' | 'in place' = 'atomic'): Promise<boolean> {
    const path = `${paths.manifests}/${file}`;
    const content = readManifest(
      text,
      { kind: 'file', path },
      { nodeName: NODE_NAME, standalone: true, validate: () => [] },
    );
    if (content.errors.length > 0)
      throw new Error(`the scenario wrote a bad manifest: ${content.errors[0]?.message ?? ''}`);
    const { files } = this.#node;
    if (manner === 'in place') await this.#tolerate(files.writeFile(path, text.slice(0, text.length >> 1), 0o644));
    const done = manner === 'atomic' ? files.writeFileAtomic(path, text, 0o644) : files.writeFile(path, text, 0o644);
    if (!(await this.#tolerate(done))) return false;
    this.#replace(file, { pods: content.pods, text, brokenAtMs: undefined });
    return true;
  }

  /** Damages the content of a file; its previous pods stay wanted. */
  async damage(file: string, text: string): Promise<void> {
    const known = this.#files.get(file);
    if (known === undefined) return;
    if (await this.#tolerate(this.#node.files.writeFileAtomic(`${paths.manifests}/${file}`, text, 0o644)))
      known.brokenAtMs ??= this.#node.clock.monotonicMs();
  }

  async remove(file: string): Promise<boolean> {
    if (!(await this.#tolerate(this.#node.files.remove(`${paths.manifests}/${file}`)))) return false;
    this.#replace(file, undefined);
    return true;
  }

  /** The last valid content of a file. */
  text(file: string): string | undefined {
    return this.#files.get(file)?.text;
  }

  get names(): string[] {
    return [...this.#files.keys()];
  }

  get broken(): string[] {
    return [...this.#files].filter(([, file]) => file.brokenAtMs !== undefined).map(([name]) => name);
  }

  has(file: string): boolean {
    return this.#files.has(file);
  }

  pods(): Pod[] {
    return [...this.#files.values()].flatMap((file) => file.pods);
  }

  pod(uid: string): Pod | undefined {
    for (const file of this.#files.values()) for (const pod of file.pods) if (pod.metadata.uid === uid) return pod;
    return undefined;
  }

  /** Whether the pod was wanted all the time since `sinceMs`. */
  isWantedSince(uid: string, sinceMs: number): boolean {
    return this.pod(uid) !== undefined && (this.#unwantedMs.get(uid) ?? -1) < sinceMs;
  }

  /**
   * Whether an agent that started at `agentStartedMs` cannot know that the pod is wanted, because its manifest was
   * damaged before.
   */
  isDoubtful(uid: string, agentStartedMs: number): boolean {
    for (const { pods, brokenAtMs } of this.#files.values())
      if (brokenAtMs !== undefined && brokenAtMs <= agentStartedMs && pods.some((pod) => pod.metadata.uid === uid))
        return true;
    return false;
  }

  #replace(file: string, next: ManifestFile | undefined): void {
    const nowMs = this.#node.clock.monotonicMs();
    const kept = new Set(next?.pods.map((pod) => pod.metadata.uid));
    for (const pod of this.#files.get(file)?.pods ?? [])
      if (!kept.has(pod.metadata.uid)) this.#unwantedMs.set(pod.metadata.uid, nowMs);
    if (next === undefined) this.#files.delete(file);
    else this.#files.set(file, next);
  }

  async #tolerate(done: Promise<void>): Promise<boolean> {
    try {
      await done;
      return true;
    } catch (error) {
      if (!isKind(error, 'Unavailable')) throw error;
      return false;
    }
  }
}
