/** Settings of the kernel that an instance changes for the whole machine, and how the last one that goes undoes it. */
import { errnoOf } from '../base/errors.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wantedTunables } from '../kubelet/features/container-manager/kernel-tunables.ts';

const FOLDER = '/proc/sys';

/** Below /proc/sys, with what an instance sets: the agent, the CNI plugins, and the routing of services. */
const ownSettings: ReadonlyMap<string, string> = new Map([
  ...[...wantedTunables].map(([name, value]) => [name, String(value)] as const),
  ['net/ipv4/ip_forward', '1'],
  ['net/bridge/bridge-nf-call-iptables', '1'],
  ['net/bridge/bridge-nf-call-ip6tables', '1'],
]);

export type KernelSettings = Readonly<Record<string, string>>;

/** A setting that the kernel does not have is left out. */
export function readKernelSettings(folder: string = FOLDER): KernelSettings {
  return Object.fromEntries(
    [...ownSettings.keys()].flatMap((name) => {
      try {
        return [[name, readFileSync(join(folder, name), 'utf8').trim()] as const];
      } catch {
        return []; // Of a kernel module that is not loaded.
      }
    }),
  );
}

/** What to write: settings that are as an instance sets them and were not so before. Others have been changed since. */
export function selectRestores(before: KernelSettings, now: KernelSettings): KernelSettings {
  return Object.fromEntries(
    [...ownSettings].flatMap(([name, own]) => {
      const earlier = before[name];
      return earlier !== undefined && now[name] === own && earlier !== own ? [[name, earlier] as const] : [];
    }),
  );
}

/** Returns what could not be set back. */
export function restoreKernelSettings(before: KernelSettings, folder: string = FOLDER): string[] {
  return Object.entries(selectRestores(before, readKernelSettings(folder))).flatMap(([name, value]) => {
    try {
      writeFileSync(join(folder, name), value, { flag: 'r+' });
      return [];
    } catch (error) {
      return [`${name} (${String(errnoOf(error))})`];
    }
  });
}
