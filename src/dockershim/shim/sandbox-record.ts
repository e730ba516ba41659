import { isRecord, parseRecord } from '../../base/json-record.ts';
import type { NetworkConfig } from '../cni/network-config.ts';

/** What is kept of a sandbox: enough to take its network down when Docker no longer knows it. */
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
  /** The network that the sandbox was attached to, and what the plugins answered. Absent before, and after teardown. */
  readonly attached?: { readonly network: NetworkConfig; readonly result: unknown; readonly ips: readonly string[] };
}

const VERSION = 1;

export function encodeRecord(record: SandboxRecord): string {
  return `${JSON.stringify({ version: VERSION, record })}\n`;
}

/** undefined for a file that is damaged, or of a version that this shim does not know. */
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
  // The shim alone writes into this folder, and whole files: what has these parts has the others.
  return isWhole ? (record as unknown as SandboxRecord) : undefined;
}
