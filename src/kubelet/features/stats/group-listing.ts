import type { NodeStatsSources, ProcessUse } from '../../ports/stats.ts';
import { nextTurn } from '../../../base/turn.ts';
import type { ListingEntry, GroupLabels } from './cadvisor-text.ts';
import type { DiskFacts } from './disk-facts.ts';
import type { GroupSample } from './group-samples.ts';
import type { ListedGroups } from './listed-groups.ts';
import type { MeasuredPod } from './pod-groups.ts';
import { asMachine } from './as-machine.ts';

export interface ListingParts {
  readonly sources: NodeStatsSources;
  readonly disks: DiskFacts;
  readonly look: (path: string) => GroupSample | undefined;
  /** The groups that were read before. A group that was read within `maxAgeMs` is not read again. */
  readonly kept: Pick<ListedGroups, 'get' | 'keep'>;
  readonly maxAgeMs: number;
  readonly nowMs: number;
}

const GROUPS_AT_ONCE = 20;

const noProcess = (): undefined => undefined;
const noLabels: Omit<GroupLabels, 'id'> = { container: '', image: '', name: '', namespace: '', pod: '' };

/**
 * Reads every group that upstream lists: the node, the groups of all pods and classes, pods, sandboxes, containers.
 * Sandboxes have the network figures of their pod.
 */
export async function listGroups(
  parts: ListingParts,
  systemPaths: readonly string[],
  pods: readonly MeasuredPod[],
): Promise<ListingEntry[]> {
  const { groups } = parts.sources;
  const entries: ListingEntry[] = [];
  let looked = 0;
  const add = (path: string, labels: Omit<GroupLabels, 'id'>, pid: () => number | undefined): void => {
    let group = parts.kept.get(path, parts.maxAgeMs);
    if (group === undefined) {
      looked++;
      const sample = parts.look(path);
      if (sample === undefined) return;
      parts.kept.keep(path, (group = listed(parts, path, sample, pid())));
    }
    entries.push({ labels: { ...labels, id: path }, group });
  };
  for (const path of systemPaths) add(path, noLabels, () => (path === '/' ? 1 : undefined));
  for (const pod of pods) {
    const own = { ...noLabels, namespace: pod.namespace, pod: pod.name };
    if (pod.path !== undefined) add(pod.path, own, noProcess);
    if (pod.sandbox !== undefined) {
      const { path, id, image } = pod.sandbox;
      add(path, { ...own, name: id, image }, () => groups.processIds(path)[0]);
    }
    for (const { path, id, name, image } of pod.containers)
      add(path, { ...own, container: name, name: id, image }, noProcess);
    if (looked < GROUPS_AT_ONCE) continue;
    looked = 0;
    await nextTurn();
  }
  return entries;
}

function listed(
  { sources, disks, nowMs }: ListingParts,
  path: string,
  sample: GroupSample,
  pid: number | undefined,
): ListingEntry['group'] {
  const { groups, machine } = sources;
  const isNode = path === '/';
  const processes: ProcessUse = groups.processUse(path);
  const { limits } = isNode ? asMachine(sample, machine) : sample;
  return {
    use: sample.use,
    limits,
    createdAtMs: isNode ? machine.bootedAtMs : sample.createdAtMs,
    nowMs,
    interfaces: pid === undefined ? [] : groups.interfaces(pid),
    processes,
    fileSystems: isNode ? nodeFileSystems(sources, disks) : [],
  };
}

function nodeFileSystems(
  { groups }: NodeStatsSources,
  { rootFs, imageFs }: DiskFacts,
): ListingEntry['group']['fileSystems'] {
  const all = new Map([rootFs, imageFs?.fs].flatMap((fs) => (fs === undefined ? [] : [[fs.device, fs] as const])));
  const disks = groups.disks();
  return [...all].map(([device, fs]) => ({ device, fs, disk: disks.find((disk) => disk.device === device) }));
}
