/**
 * Kernel settings that an instance changes for the whole machine, and how the last instance that stops restores them.
 */
import { errnoOf } from '../base/errors.ts';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wantedTunables } from '../kubelet/features/container-manager/kernel-tunables.ts';

const FOLDER = '/proc/sys';

/**
 * Paths below /proc/sys with the values that an instance sets, by the agent, the CNI plugins and the routing of
 * services.
 */
const ownSettings: ReadonlyMap<string, string> = new Map([
  ...[...wantedTunables].map(([name, value]) => [name, String(value)] as const),
  ['net/ipv4/ip_forward', '1'],
  ['net/ipv6/conf/all/forwarding', '1'],
  ['net/bridge/bridge-nf-call-iptables', '1'],
  ['net/bridge/bridge-nf-call-ip6tables', '1'],
]);

export type KernelSettings = Readonly<Record<string, string>>;

const IPV6_DEVICES = 'net/ipv6/conf';
/** A device that learns its routes from a router continues to do so although the machine forwards. */
const LEARNS_ANYWAY = '2';
const LEARNS = '1';

function routerSettings(folder: string): readonly (readonly [string, string])[] {
  try {
    const devices = readdirSync(join(folder, IPV6_DEVICES)).filter((name) => name !== 'all' && name !== 'default');
    return devices.map((name) => [`${IPV6_DEVICES}/${name}/accept_ra`, LEARNS_ANYWAY] as const);
  } catch {
    return []; // Without IPv6.
  }
}

const settingsOf = (folder: string): ReadonlyMap<string, string> =>
  new Map([...ownSettings, ...routerSettings(folder)]);

/**
 * Enables forwarding of IPv6 packets. When forwarding is on, a kernel drops the routes that routers announce, including
 * the default route. Devices that accept such announcements are therefore set to keep accepting them.
 */
export function forwardIpv6(folder: string = FOLDER): void {
  const file = (name: string): string => join(folder, name);
  if (readFileSync(file('net/ipv6/conf/all/forwarding'), 'utf8').trim() === '1') return;
  for (const [name, value] of routerSettings(folder))
    if (readFileSync(file(name), 'utf8').trim() === LEARNS) writeFileSync(file(name), value, { flag: 'r+' });
  writeFileSync(file('net/ipv6/conf/all/forwarding'), '1', { flag: 'r+' });
}

/** A setting that the kernel does not have is left out. */
export function readKernelSettings(folder: string = FOLDER): KernelSettings {
  return Object.fromEntries(
    [...settingsOf(folder).keys()].flatMap((name) => {
      try {
        return [[name, readFileSync(join(folder, name), 'utf8').trim()] as const];
      } catch {
        return []; // It belongs to a kernel module that is not loaded.
      }
    }),
  );
}

/**
 * The values to restore: settings that still have an instance's value and had another one before. Others were changed
 * since.
 */
export function selectRestores(before: KernelSettings, now: KernelSettings): KernelSettings {
  return Object.fromEntries(
    Object.entries(before).flatMap(([name, earlier]) => {
      const own = ownSettings.get(name) ?? (name.startsWith(`${IPV6_DEVICES}/`) ? LEARNS_ANYWAY : undefined);
      return own !== undefined && now[name] === own && earlier !== own ? [[name, earlier] as const] : [];
    }),
  );
}

/** Returns the settings that could not be restored. */
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
