import { isRecord, parseRecord } from '../../base/json-record.ts';
import type { NetworkConfig } from '../cni/network-config.ts';

/** The record of a sandbox: what is needed to take its network down when Docker no longer knows the sandbox. */
export interface SandboxRecord {
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid: string; readonly attempt: number };
  readonly isHostNetwork: boolean;
  readonly portMappings: readonly {
    readonly protocol: 0 | 1 | 2;
    readonly containerPort: number;
    readonly hostPort: number;
    readonly hostIp: string;
  }[];
  readonly dns: { readonly servers: readonly string[]; readonly searches: readonly string[] };
  /**
   * The network that the sandbox was attached to, and the results of the plugins. Absent before the setup and after the
   * teardown.
   */
  readonly attached?: { readonly network: NetworkConfig; readonly result: unknown; readonly ips: readonly string[] };
}

const VERSION = 1;

export function encodeRecord(record: SandboxRecord): string {
  return `${JSON.stringify({ version: VERSION, record })}\n`;
}

/** undefined for a file that is damaged or has an unknown version. */
export function decodeRecord(text: string): SandboxRecord | undefined {
  const { version, record } = parseRecord(text) ?? {};
  if (version !== VERSION || !isRecord(record)) return undefined;
  const { pod, isHostNetwork, portMappings, dns, attached } = record;
  const isWhole =
    isRecord(pod) &&
    typeof isHostNetwork === 'boolean' &&
    Array.isArray(portMappings) &&
    isRecord(dns) &&
    (attached === undefined || (isRecord(attached) && isRecord(attached['network']) && Array.isArray(attached['ips'])));
  // Only the shim writes into this folder, and it writes complete files, so a file with these members has the others as
  // well.
  return isWhole ? (record as unknown as SandboxRecord) : undefined;
}
