/** Whether bridged packets pass the node's packet filter, by the kernel's settings of this network namespace. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = '/proc/sys/net/bridge';

export const isBridgeFiltered = (): boolean => isSet('bridge-nf-call-iptables');

/** Enables it for both families. False if the kernel has no br_netfilter, or does not permit it. */
export function filterBridged(): boolean {
  for (const name of ['bridge-nf-call-iptables', 'bridge-nf-call-ip6tables']) {
    if (isSet(name)) continue;
    try {
      // The file is never created: without it in /proc the kernel does not filter bridges.
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
