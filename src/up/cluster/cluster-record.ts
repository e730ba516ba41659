/** Settings that a cluster keeps from its first start. Its addresses are in certificates, kubeconfigs and objects. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { KubeletError } from '../../base/errors.ts';
import type { Instance } from '../instance.ts';
import type { FamilyChoice } from '../ip-families.ts';
import { familyOf } from '../ip-families.ts';
import type { Subnet } from '../subnet.ts';

/** Of one IP family. */
export interface ClusterRanges {
  /** The range of the pods. Its gateway is the address of node, API server and name service. */
  readonly subnet: Subnet;
  readonly serviceRange: string;
  /** The range of the pods of several nodes; absent with one node. */
  readonly podRange?: string;
}

export interface ClusterRecord extends ClusterRanges {
  /** The other IP family; absent when the cluster has only one. */
  readonly second?: ClusterRanges;
  readonly apiPort: number;
  readonly registryPort: number;
  /** The example is applied only once, so that later changes and deletions by users are kept. */
  readonly seeded: boolean;
  /** Flags of the control plane at the last start, for machines that run a control plane too. */
  readonly controlPlaneArgs?: readonly string[];
  /** The nodes of this machine at the last start; absent in records of older releases. */
  readonly nodeNames?: readonly string[];
}

/**
 * Undefined before the first start. Throws `Invalid` for an unreadable file: new addresses would break a cluster whose
 * objects contain the old ones.
 */
export function readClusterRecord(instance: Instance): ClusterRecord | undefined {
  if (!existsSync(instance.clusterRecord)) return undefined;
  try {
    const { subnet, serviceRange, podRange, second, apiPort, registryPort, seeded, controlPlaneArgs, nodeNames } =
      JSON.parse(readFileSync(instance.clusterRecord, 'utf8')) as Partial<ClusterRecord>;
    if (subnet !== undefined && serviceRange !== undefined && apiPort !== undefined && registryPort !== undefined)
      return {
        ...{ subnet, serviceRange, apiPort, registryPort, seeded: seeded === true },
        ...(podRange !== undefined && { podRange }),
        ...(second !== undefined && { second }),
        ...(controlPlaneArgs !== undefined && { controlPlaneArgs }),
        ...(nodeNames !== undefined && { nodeNames }),
      };
  } catch (cause) {
    throw new KubeletError(
      'Invalid',
      `${instance.clusterRecord} cannot be read; start over with: npm run down -- --purge`,
      { cause },
    );
  }
  throw new KubeletError(
    'Invalid',
    `${instance.clusterRecord} is incomplete; start over with: npm run down -- --purge`,
  );
}

export function writeClusterRecord(instance: Instance, record: ClusterRecord): void {
  writeFileSync(instance.clusterRecord, `${JSON.stringify(record, null, 2)}\n`);
}

/** The primary family first. */
export const rangesOf = ({ second, ...first }: ClusterRecord): readonly ClusterRanges[] =>
  second === undefined ? [first] : [first, second];

export const serviceRangesOf = (record: ClusterRecord): readonly string[] =>
  rangesOf(record).map(({ serviceRange }) => serviceRange);
export const podRangesOf = (record: ClusterRecord): readonly string[] =>
  rangesOf(record).flatMap(({ podRange }) => podRange ?? []);

/** The ranges in the form of API server flags, with commas between the families. */
export type ServedRanges = Pick<ClusterRecord, 'serviceRange' | 'podRange' | 'apiPort'>;

export const servedRanges = (record: ClusterRecord): ServedRanges & { readonly podRange: string } => ({
  serviceRange: serviceRangesOf(record).join(),
  podRange: podRangesOf(record).join(),
  apiPort: record.apiPort,
});

const familyChoiceOf = ({ subnet, second }: ClusterRecord): FamilyChoice =>
  second !== undefined ? 'dual' : familyOf(subnet.cidr) === 'IPv4' ? 'ipv4' : 'ipv6';

/**
 * Throws `Invalid` when the requested families differ from the cluster's: its objects and certificates contain
 * addresses.
 */
export function chooseFamilies(before: ClusterRecord | undefined, wanted: FamilyChoice | undefined): FamilyChoice {
  const had = before === undefined ? undefined : familyChoiceOf(before);
  if (had !== undefined && wanted !== undefined && had !== wanted)
    throw new KubeletError(
      'Invalid',
      `--ip-family ${wanted}: this cluster was started with ${had}, and its objects have such addresses. Start over with: npm run down -- --purge, or use another --data`,
    );
  return had ?? wanted ?? 'ipv4';
}

export interface RecordChoices {
  /** The primary family first. */
  readonly ranges: readonly [ClusterRanges, ...ClusterRanges[]];
  readonly controlPlaneArgs: readonly string[];
  /** Where the API server listens. */
  readonly address: string;
  /** Where the registry listens. */
  readonly registryAddress: string;
  readonly freePort: (wanted: number, address: string) => Promise<number>;
}

const API_PORT = 6443;
const REGISTRY_PORT = 5000;

/** Ports that another program uses now are replaced. */
export async function chooseClusterRecord(
  before: ClusterRecord | undefined,
  { ranges, controlPlaneArgs, address, registryAddress, freePort }: RecordChoices,
): Promise<ClusterRecord> {
  const [first, second] = ranges;
  return {
    ...first,
    ...(second !== undefined && { second }),
    controlPlaneArgs,
    apiPort: await freePort(before?.apiPort ?? API_PORT, address),
    registryPort: await freePort(before?.registryPort ?? REGISTRY_PORT, registryAddress),
    seeded: before?.seeded ?? false,
    ...(before?.nodeNames !== undefined && { nodeNames: before.nodeNames }),
  };
}
