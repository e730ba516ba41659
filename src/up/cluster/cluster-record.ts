/** What a cluster keeps from its first start on: its addresses stand in certificates, kubeconfigs and objects. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { KubeletError } from '../../base/errors.ts';
import type { Instance } from '../instance.ts';
import type { Subnet } from '../subnet.ts';

export interface ClusterRecord {
  /** Of pods; its gateway is the address of node, API server and name service. */
  readonly subnet: Subnet;
  readonly serviceRange: string;
  /** Of the pods of several nodes; absent with one. */
  readonly podRange?: string;
  readonly apiPort: number;
  readonly registryPort: number;
  /** The example was applied once; what a person did with it since then stays so. */
  readonly seeded: boolean;
  /** Flags of the control plane at the last start, for machines that run a control plane too. */
  readonly controlPlaneArgs?: readonly string[];
}

/**
 * Undefined before the first start. Throws `Invalid` for an unreadable file: choosing again would move a cluster
 * whose objects name its addresses.
 */
export function readClusterRecord(instance: Instance): ClusterRecord | undefined {
  if (!existsSync(instance.clusterRecord)) return undefined;
  try {
    const { subnet, serviceRange, podRange, apiPort, registryPort, seeded, controlPlaneArgs } = JSON.parse(
      readFileSync(instance.clusterRecord, 'utf8'),
    ) as Partial<ClusterRecord>;
    if (subnet !== undefined && serviceRange !== undefined && apiPort !== undefined && registryPort !== undefined)
      return {
        ...{ subnet, serviceRange, apiPort, registryPort, seeded: seeded === true },
        ...(podRange !== undefined && { podRange }),
        ...(controlPlaneArgs !== undefined && { controlPlaneArgs }),
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

export interface RecordChoices {
  readonly subnet: Subnet;
  readonly serviceRange: string;
  readonly podRange: string | undefined;
  readonly controlPlaneArgs: readonly string[];
  /** Where the API server listens. */
  readonly address: string;
  /** Where the registry listens. */
  readonly registryAddress: string;
  readonly freePort: (wanted: number, address: string) => Promise<number>;
}

const API_PORT = 6443;
const REGISTRY_PORT = 5000;

/** Ports that another program has taken meanwhile are replaced. */
export async function chooseClusterRecord(
  before: ClusterRecord | undefined,
  { subnet, serviceRange, podRange, controlPlaneArgs, address, registryAddress, freePort }: RecordChoices,
): Promise<ClusterRecord> {
  return {
    subnet,
    serviceRange,
    controlPlaneArgs,
    ...(podRange !== undefined && { podRange }),
    apiPort: await freePort(before?.apiPort ?? API_PORT, address),
    registryPort: await freePort(before?.registryPort ?? REGISTRY_PORT, registryAddress),
    seeded: before?.seeded ?? false,
  };
}
