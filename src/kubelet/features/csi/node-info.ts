import { ownValue } from '../../../base/lookup.ts';
import type { Node } from '../../../api/core/node.ts';
import type { CSINode, CSINodeDriver } from '../../../api/storage/csi-node.ts';
import { migratedPlugins } from '../../../api/csi-migration.ts';
import { goQuote } from '../../../api/go-quote.ts';
import type { NodeDriver } from './check-driver.ts';

/** The annotation with the id of this node for each driver (upstream: nodeinfomanager.go). */
const NODE_IDS = 'csi.volume.kubernetes.io/nodeid';

/**
 * The annotation of CSINode with which upstream's attach/detach controller passes volumes of these kinds to CSI
 * drivers.
 */
const MIGRATED_PLUGINS = 'storage.alpha.kubernetes.io/migrated-plugins';
const migrated = migratedPlugins.join();

export interface NodeInfoFacts {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly drivers: readonly NodeDriver[];
  /** Drivers that were removed since the agent started. Other unregistered drivers may only be late. */
  readonly left: ReadonlySet<string>;
}

/** The change that the CSINode needs. A CSINode of another node with the same name is deleted first. */
export type CsiNodePlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'create' | 'update'; readonly object: CSINode }
  | { readonly kind: 'delete' };

export function planCsiNode(existing: CSINode | undefined, facts: NodeInfoFacts): CsiNodePlan {
  const { nodeName, nodeUid } = facts;
  if (existing === undefined) {
    const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid };
    return {
      kind: 'create',
      object: {
        metadata: {
          name: nodeName,
          namespace: '',
          uid: '',
          annotations: { [MIGRATED_PLUGINS]: migrated },
          ownerReferences: [owner],
        },
        spec: { drivers: mergeDrivers([], facts) },
      },
    };
  }
  const owned =
    existing.metadata.ownerReferences?.some(
      ({ kind, name, uid }) => kind === 'Node' && name === nodeName && uid === nodeUid,
    ) === true;
  if (!owned) return { kind: 'delete' };
  const before = driversOf(existing);
  const drivers = mergeDrivers(before, facts);
  const { metadata } = existing;
  if (JSON.stringify(drivers) === JSON.stringify(before) && metadata.annotations?.[MIGRATED_PLUGINS] === migrated)
    return { kind: 'none' };
  const annotations = { ...metadata.annotations, [MIGRATED_PLUGINS]: migrated };
  const object = { ...existing, metadata: { ...metadata, annotations }, spec: { ...existing.spec, drivers } };
  return { kind: 'update', object };
}

/** Returns the drivers of a CSINode. Upstream's API server writes an empty list as null. */
const driversOf = ({ spec }: { spec: { drivers?: readonly CSINodeDriver[] | null } }): readonly CSINodeDriver[] =>
  spec.drivers ?? [];

/** Merges the drivers. Unchanged drivers keep their position and content. */
function mergeDrivers(before: readonly CSINodeDriver[], { drivers, left }: NodeInfoFacts): CSINodeDriver[] {
  const wanted = new Map(drivers.map((driver) => [driver.name, entryOf(driver)]));
  const kept = before.flatMap((entry) => {
    const now = wanted.get(entry.name);
    if (now === undefined) return left.has(entry.name) ? [] : [entry];
    if (!sameEntry(entry, now)) return [];
    wanted.delete(entry.name);
    return [entry];
  });
  return [...kept, ...wanted.values()];
}

function entryOf({ name, nodeId, topology, maxVolumes }: NodeDriver): CSINodeDriver {
  return {
    name,
    nodeID: nodeId,
    topologyKeys: Object.keys(topology).sort(),
    ...(maxVolumes !== undefined && { allocatable: { count: maxVolumes } }),
  };
}

function sameEntry(left: CSINodeDriver, right: CSINodeDriver): boolean {
  const text = ({ nodeID, topologyKeys, allocatable }: CSINodeDriver): string =>
    JSON.stringify([nodeID, [...topologyKeys].sort(), allocatable?.count]);
  return text(left) === text(right);
}

/** The change that the Node object needs: the ids as an annotation, and the topology of each driver as labels. */
export interface NodeInfoPatch {
  /** The content of a merge patch, in which null removes a value; undefined for no change. */
  readonly metadata:
    | {
        readonly annotations?: Readonly<Record<string, string | null>>;
        readonly labels?: Readonly<Record<string, string>>;
      }
    | undefined;
  /** Labels that another client set to a different value. They are not changed. */
  readonly collisions: readonly string[];
}

export function planNodeInfo(node: Node, { drivers, left }: NodeInfoFacts): NodeInfoPatch {
  const { annotations = {}, labels = {} } = node.metadata;
  const before = annotations[NODE_IDS];
  const ids = idsOf(before);
  for (const name of left) ids.delete(name);
  for (const { name, nodeId } of drivers) ids.set(name, nodeId);
  const after =
    ids.size === 0 ? undefined : JSON.stringify(Object.fromEntries([...ids].sort(([a], [b]) => (a < b ? -1 : 1))));
  const changedIds = sameIds(before, after) ? {} : { annotations: { [NODE_IDS]: after ?? null } };
  const wanted: Record<string, string> = {};
  const collisions: string[] = [];
  for (const { topology } of drivers) {
    for (const [key, value] of Object.entries(topology)) {
      const there = ownValue(labels, key);
      if (there === undefined) wanted[key] = value;
      else if (there !== value)
        collisions.push(
          `detected topology value collision: driver reported ${goQuote(key)}:${goQuote(value)} but existing label is ${goQuote(key)}:${goQuote(there)}`,
        );
    }
  }
  const changedLabels = Object.keys(wanted).length === 0 ? {} : { labels: wanted };
  const metadata = { ...changedIds, ...changedLabels };
  return { metadata: Object.keys(metadata).length === 0 ? undefined : metadata, collisions };
}

/** Parses the annotation with the ids. An invalid annotation is replaced. */
function idsOf(text: string | undefined): Map<string, string> {
  try {
    const read: unknown = JSON.parse(text ?? '{}');
    return typeof read === 'object' && read !== null
      ? new Map(Object.entries(read).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
      : new Map();
  } catch {
    return new Map();
  }
}

function sameIds(before: string | undefined, after: string | undefined): boolean {
  const text = (value: string | undefined): string => JSON.stringify([...idsOf(value)].sort());
  return (before === undefined) === (after === undefined) && text(before) === text(after);
}
