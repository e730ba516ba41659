import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Random } from '../../../base/random.ts';

export interface ListeningPlace {
  readonly hostname: string;
  /** The boot id of the running kernel, which is unique. */
  readonly bootId: string;
  /** The network namespace as `/proc/self/ns/net` shows it. */
  readonly networkNamespace: string;
  readonly address: string;
  readonly port: number;
}

/**
 * Returns the identity of a process in leader election: its listen address. Only one process can listen there, so a
 * previous process with the same identity has ended, and its successor need not wait until the lease expires.
 * (Upstream's identity belongs to the process, so the successor of a killed leader waits 15 s.)
 */
export function holderIdentity(place: ListeningPlace): string {
  const hash = createHash('sha256').update(
    JSON.stringify([place.bootId, place.networkNamespace, place.address, place.port]),
  );
  return `${place.hostname}_${hash.digest('hex').slice(0, 32)}`;
}

/**
 * Returns the identity of this process, which already listens there. If the kernel does not provide enough facts, it is
 * unique to the process.
 */
export function ownHolderIdentity(address: string, port: number, random: Random): string {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return holderIdentity({
      hostname: hostname(),
      bootId,
      networkNamespace: readlinkSync('/proc/self/ns/net'),
      address,
      port,
    });
  } catch {
    return `${hostname()}_${random.uuid()}`;
  }
}
