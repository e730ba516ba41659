/** Whether bridged packets pass the node's packet filter, by the kernel's settings of this network namespace. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = '/proc/sys/net/bridge';

export const isBridgeFiltered = (): boolean => isSet('bridge-nf-call-iptables');

/** Sets what is not set, for both families. False where the kernel has no br_netfilter, or does not let us. */
export function filterBridged(): boolean {
  for (const name of ['bridge-nf-call-iptables', 'bridge-nf-call-ip6tables']) {
    if (isSet(name)) continue;
    try {
      // Never made: /proc has the file or the kernel does not filter bridges.
      writeFileSync(join(FOLDER, name), '1', { flag: 'r+' });
    } catch {
      return false;
    }
  }
  return true;
}

function isSet(name: string): boolean {
  const file = join(FOLDER, name);
  return existsSync(file) && readFileSync(file, 'utf8').trim() === '1';
}
