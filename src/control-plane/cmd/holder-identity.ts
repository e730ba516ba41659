import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Random } from '../../base/random.ts';

export interface ListeningPlace {
  readonly hostname: string;
  /** Of the running kernel: no two have the same. */
  readonly bootId: string;
  /** As `/proc/self/ns/net` shows it. */
  readonly networkNamespace: string;
  readonly address: string;
  readonly port: number;
}

/**
 * The identity of a process in leader election: the address it listens on. Only one process can listen there, so the
 * process that had this identity before is gone, and its successor need not wait until its lease ends. (Upstream's identity is of
 * the process, and a killed leader's successor waits 15 s.)
 */
export function holderIdentity(place: ListeningPlace): string {
  const hash = createHash('sha256').update(
    JSON.stringify([place.bootId, place.networkNamespace, place.address, place.port]),
  );
  return `${place.hostname}_${hash.digest('hex').slice(0, 32)}`;
}

/**
 * The identity of this process, which listens there already. Of the process itself where the kernel does not say
 * enough.
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
