/** The network of the pods: one bridge, one subnet, one chain of iptables rules, all with the instance's name. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage, KubeletError } from '../base/errors.ts';
import { runCommand, tryCommand } from './commands.ts';
import { createIptables } from '../node-network/adapters/iptables.ts';
import { createNft } from '../node-network/adapters/nft.ts';
import { POLICY_FAMILY, policyTable } from '../node-network/network-policy/policy-enforcer.ts';
import { removeTable } from '../node-network/nftables/table-writer.ts';
import { serviceTable } from '../node-network/service-routing/nft-router.ts';
import { computeRemoval } from '../node-network/service-routing/restore-text.ts';
import type { RulesByTable } from './host-tables.ts';
import {
  chainNames,
  hasInstanceChain,
  selectIptablesCleanUp,
  selectKubeletChainCleanUp,
  sharedChains,
} from './host-tables.ts';
import type { Instance } from './instance.ts';
import type { Family } from './ip-families.ts';
import { checkIpv6, familyOf } from './ip-families.ts';
import { forwardIpv6, readKernelSettings, restoreKernelSettings } from './kernel-settings.ts';
import type { IptablesProgram, MachineRecord } from './machine-record.ts';
import {
  existingFolders,
  readMachineRecord,
  removeMachineRecord,
  withMachineLock,
  writeMachineRecord,
} from './machine-record.ts';
import { doesKubeletRun } from './processes.ts';
import { renderCniConfig } from './runtime-config.ts';
import type { Route, Subnet } from './subnet.ts';
import { choosePodRange, chooseServiceRange, chooseSubnet, isSubnetFree } from './subnet.ts';
import { chooseRanges6, isSubnetFree6, rangesOfSubnet } from './subnet6.ts';

/** The comment of our own rules. */
const tables = ['nat', 'filter'] as const;
const programs = ['iptables', 'ip6tables'] as const;
/** libcni stores its results here for all engines; our files start with our network's name. */
const CNI_CACHE = '/var/lib/cni/results';

interface NetworkRecord {
  readonly subnets: readonly Subnet[];
}

const recordPath = (instance: Instance): string => join(instance.runDir, 'network.json');
/** On a machine that is one node of several: the bridge of its pods. */
export const podBridge = ({ id }: Instance): string => `ktp${id}`;
/** On the same machine: the device with the DNS address of its pods. */
export const nameDevice = ({ id }: Instance): string => `ktd${id}`;
/** The name of the device that leads to the pods of other machines. */
export const overlayFile = (instance: Instance): string => join(instance.runDir, 'overlay.json');
/** Its packet filter rules. */
export const overlayChainPrefix = ({ id }: Instance): string => `KTO-${id}`;

/**
 * Creates bridge, rules and CNI configuration, with a subnet of each family. Repeating it changes nothing. `warn` is
 * called with features that pods will lack. `wanted` subnets are used if they are free. `pods: 'elsewhere'`: another
 * program configures the CNI.
 */
export async function setUpNetwork(
  instance: Instance,
  warn: (message: string) => void,
  {
    families = ['IPv4'],
    wanted = [],
    pods = 'here',
  }: {
    readonly families?: readonly Family[];
    readonly wanted?: readonly Subnet[];
    readonly pods?: 'here' | 'elsewhere';
  } = {},
): Promise<readonly Subnet[]> {
  if (families.includes('IPv6')) checkIpv6();
  const known = [...readRecord(instance), ...wanted];
  const subnets: Subnet[] = [];
  for (const family of families) subnets.push(await chooseFamilySubnet(instance, family, known));
  writeFileSync(recordPath(instance), JSON.stringify({ subnets } satisfies NetworkRecord));
  await setUpBridge(instance, subnets);
  try {
    await withMachineLock(async () => {
      await noteShared();
      await removeRules(instance);
      for (const subnet of subnets) await setUpRules(instance, subnet);
    });
  } catch (error) {
    warn(`iptables refused a rule, so pods may not reach other machines: ${errorMessage(error)}`);
  }
  if (families.includes('IPv6')) forwardIpv6();
  mkdirSync(instance.cniConfDir, { recursive: true });
  if (pods === 'here')
    writeFileSync(join(instance.cniConfDir, '10-kubelet-ts.conflist'), renderCniConfig(instance, subnets));
  return subnets;
}

async function chooseFamilySubnet(instance: Instance, family: Family, known: readonly Subnet[]): Promise<Subnet> {
  const routes = await readRoutes(family);
  const before = known.find(({ cidr }) => familyOf(cidr) === family);
  if (family === 'IPv4')
    return before !== undefined && isSubnetFree(before, routes, instance.bridge)
      ? before
      : chooseSubnet(instance.id, routes, instance.bridge);
  const own = ownDevices(instance);
  return before !== undefined && isSubnetFree6(before, routes, own)
    ? before
    : chooseRanges6(instance.id, routes, own).subnet;
}

/** The first instance on the machine records shared objects before it creates any of them. */
async function noteShared(): Promise<void> {
  if (await hasInstance()) return;
  const [v4, v6] = [await listTables('iptables'), await listTables('ip6tables')];
  writeMachineRecord({
    chains: { iptables: sharedChains(v4), ip6tables: sharedChains(v6) },
    folders: existingFolders(CNI_CACHE),
    settings: readKernelSettings(),
  });
}

/** Whether the rules of an instance are set up, other than that with the given chain. */
async function hasInstance(except?: string): Promise<boolean> {
  for (const program of programs) if (hasInstanceChain({ nat: await listRules('nat', program) }, except)) return true;
  return false;
}

async function readRoutes(family: Family = 'IPv4'): Promise<Route[]> {
  const option = family === 'IPv4' ? '-4' : '-6';
  return JSON.parse(await runCommand(['ip', '-j', option, 'route', 'show', 'table', 'all'])) as Route[];
}

/**
 * A bridge without ports counts as down, and programs that list addresses then do not see its address, which is the
 * node's. This port always exists. It is removed with the bridge.
 */
export async function keepBridgeUp({ bridge }: Instance): Promise<void> {
  const [port, peer] = [`${bridge}p`, `${bridge}q`];
  if (!existsSync(`/sys/class/net/${port}`))
    await runCommand(['ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', peer]);
  await runCommand(['ip', 'link', 'set', port, 'master', bridge, 'up']);
  await runCommand(['ip', 'link', 'set', peer, 'up']);
}

/**
 * Lets connections to 127.0.0.1 be forwarded to a pod, for node ports. The setting is removed with the bridge. False
 * where kernel settings cannot be written, as in some containers.
 */
export function allowLoopbackNodePorts(bridge: string): boolean {
  try {
    writeFileSync(`/proc/sys/net/ipv4/conf/${bridge}/route_localnet`, '1');
    return true;
  } catch {
    return false;
  }
}

/**
 * Claims a range for services with a route, so that processes of this machine reach services from the bridge's address
 * and no other program takes the range. The route is removed with the bridge. `wanted` is the range that the cluster
 * already had: its objects depend on it. Throws `Conflict` when another cluster uses it, or all ranges are taken.
 */
export async function claimServiceRange(instance: Instance, wanted: string | undefined, from: Subnet): Promise<string> {
  const family = familyOf(from.cidr);
  for (;;) {
    const routes = await readRoutes(family);
    const range =
      wanted ?? (family === 'IPv4' ? chooseServiceRange(routes, instance.bridge) : rangesOfSubnet(from).serviceRange);
    if (routes.some((route) => route.dst === range && route.dev === instance.bridge)) return range;
    // Two instances that start at the same time see the same routes; only one of them can add this one.
    const { code, stderr } = await tryCommand([
      ...['ip', 'route', 'add', range, 'dev', instance.bridge, 'src', from.gateway],
    ]);
    if (code === 0) return range;
    if (!stderr.includes('File exists'))
      throw new KubeletError('Internal', `no route for services: ${stderr.trim()}`, { op: 'ip route add' });
    if (wanted !== undefined || family === 'IPv6')
      throw new KubeletError(
        'Conflict',
        `another cluster of this machine uses the service range ${range} of this one: stop that cluster first`,
        { op: 'ip route add' },
      );
  }
}

/**
 * The range of the pods of several nodes. Each node's part gets a route on the bridge, which is removed with the
 * bridge.
 */
export async function claimPodRange({ bridge }: Instance, wanted: string | undefined, subnet: Subnet): Promise<string> {
  if (familyOf(subnet.cidr) === 'IPv6') return rangesOfSubnet(subnet).podRange;
  return choosePodRange(wanted, await readRoutes(), bridge);
}

function readRecord(instance: Instance): readonly Subnet[] {
  try {
    const { subnets } = JSON.parse(readFileSync(recordPath(instance), 'utf8')) as Partial<NetworkRecord>;
    return subnets ?? [];
  } catch {
    return []; // Not written yet, or incomplete after a crash of the machine: it is chosen again.
  }
}

/** Created here and not for the first pod, so that another instance sees the route and chooses another subnet. */
async function setUpBridge(instance: Instance, subnets: readonly Subnet[]): Promise<void> {
  const { bridge, id } = instance;
  if (!existsSync(`/sys/class/net/${bridge}`)) {
    // A fixed hardware address. Otherwise it changes whenever a pod starts or ends.
    const mac = `02:${(id.match(/../g) ?? []).join(':')}:01`;
    await runCommand(['ip', 'link', 'add', bridge, 'address', mac, 'type', 'bridge']);
  }
  for (const { gateway, prefixLength } of subnets) {
    // Duplicate address detection is off: no other machine is on the bridge, and a server cannot listen on an address
    // during the detection.
    const untried = familyOf(gateway) === 'IPv6' ? ['nodad'] : [];
    await runCommand(['ip', 'addr', 'replace', `${gateway}/${prefixLength}`, 'dev', bridge, ...untried]);
  }
  await runCommand(['ip', 'link', 'set', bridge, 'up']);
}

/** In one command for each family: each table changes as a whole. */
async function setUpRules({ iptablesChain: chain }: Instance, { cidr }: Subnet): Promise<void> {
  const rules = [
    '*nat',
    `:${chain} - [0:0]`,
    `-A ${chain} ! -d ${cidr} -j MASQUERADE`,
    `-A POSTROUTING -s ${cidr} -j ${chain}`,
    'COMMIT',
    '*filter',
    `:${chain} - [0:0]`,
    `-A ${chain} -s ${cidr} -j ACCEPT`,
    `-A ${chain} -d ${cidr} -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT`,
    // The first rule, because another engine may have set the policy to DROP. It only concerns our own subnet.
    `-I FORWARD -j ${chain}`,
    'COMMIT',
  ];
  await createIptables([], familyOf(cidr)).apply(`${rules.join('\n')}\n`);
}

const listRules = (table: string, program: IptablesProgram): Promise<string> =>
  outputOf([program, '-w', '10', '-t', table, '-S']);

/** '' if it fails, and where there is no such program. */
async function outputOf(argv: readonly string[]): Promise<string> {
  const result = await tryCommand(argv).catch((error: unknown) => {
    if (error instanceof KubeletError && error.kind === 'NotFound') return { code: 1, stdout: '', stderr: '' };
    throw error;
  });
  return result.code === 0 ? result.stdout : '';
}

async function listTables(program: IptablesProgram): Promise<RulesByTable> {
  return {
    mangle: await listRules('mangle', program),
    nat: await listRules('nat', program),
    filter: await listRules('filter', program),
  };
}

/** Rules that service routing left. It does not remove them itself, so that traffic continues while it restarts. */
async function removeServiceRules(instance: Instance): Promise<void> {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const filter = createIptables([], family);
    const present = await filter.read().catch(() => '');
    for (const prefix of [instance.iptablesChain, overlayChainPrefix(instance)]) {
      const removal = computeRemoval(present, prefix);
      if (removal !== undefined) await filter.apply(removal);
    }
  }
}

/** Those of our tables of nftables that the kernel has, as family and name. Without the program there are none. */
async function presentNftTables({
  iptablesChain,
}: Instance): Promise<readonly (readonly [family: string, table: string])[]> {
  const present = (await outputOf(['nft', 'list', 'tables'])).split('\n');
  const own = [
    [POLICY_FAMILY, policyTable(iptablesChain)],
    ...['ip', 'ip6'].map((family) => [family, serviceTable(iptablesChain)] as const),
  ] as const;
  return own.filter(([family, table]) => present.includes(`table ${family} ${table}`));
}

async function removeNftTables(instance: Instance): Promise<void> {
  for (const [family, table] of await presentNftTables(instance)) await removeTable(createNft(), family, table);
}

/** Our own chain only, in both tables of both families, and the plugins' rules for our network. */
async function removeRules(instance: Instance): Promise<void> {
  for (const program of programs) {
    const before = readMachineRecord()?.chains[program];
    for (const table of tables) {
      const rules = await listRules(table, program);
      // Without a record the creator of the shared chains is unknown, so they are kept.
      const chainsBefore =
        before?.flatMap((entry) => (entry.startsWith(`${table} `) ? [entry.slice(table.length + 1)] : [])) ??
        chainNames(rules);
      const { commands } = selectIptablesCleanUp(rules, {
        chain: instance.iptablesChain,
        networkName: instance.networkName,
        chainsBefore,
      });
      for (const command of commands) await tryCommand([program, '-w', '10', '-t', table, ...command]);
    }
  }
}

/** What our agents created for other programs is removed with the last instance of the machine, if it belongs to us. */
async function removeShared(instance: Instance): Promise<void> {
  const before = readMachineRecord();
  if (await hasInstance(instance.iptablesChain)) return;
  removeCniFolders(before);
  if (before !== undefined && !doesKubeletRun()) {
    for (const program of programs) {
      for (const command of selectKubeletChainCleanUp(await listTables(program), before.chains[program]))
        await tryCommand([program, '-w', '10', ...command]);
    }
    restoreKernelSettings(before.settings);
  }
  removeMachineRecord();
}

/** Removes all of it that can be removed: see `networkLeftovers`. */
export async function tearDownNetwork(instance: Instance): Promise<void> {
  for (const bridge of [instance.bridge, podBridge(instance)]) {
    const ports = `/sys/class/net/${bridge}/brif`;
    if (existsSync(ports)) for (const port of readdirSync(ports)) await tryCommand(['ip', 'link', 'del', port]);
  }
  for (const name of ownDevices(instance))
    if (existsSync(`/sys/class/net/${name}`)) await tryCommand(['ip', 'link', 'del', name]);
  removeCniCache(instance);
  await withMachineLock(async () => {
    await removeServiceRules(instance);
    await removeNftTables(instance);
    await removeRules(instance);
    await removeShared(instance);
  });
}

function ownDevices(instance: Instance): string[] {
  return [
    instance.bridge,
    `${instance.bridge}p`,
    podBridge(instance),
    nameDevice(instance),
    ...overlayDevices(instance),
  ];
}

function overlayDevices(instance: Instance): string[] {
  try {
    const { device } = JSON.parse(readFileSync(overlayFile(instance), 'utf8')) as { device?: unknown };
    // The device of IPv6 has one of two names, because the kernel limits their length.
    return typeof device === 'string' && /^flannel\.\d{1,7}$/.test(device)
      ? ['flannel', 'flannel-v6', 'flan6'].map((name) => device.replace('flannel', name))
      : [];
  } catch {
    return []; // Not known, or incomplete after a crash of the machine.
  }
}

/** Our files, and those of the loopback network of the same sandboxes, which only contain the sandbox's id. */
function cniCacheFiles(instance: Instance): string[] {
  if (!existsSync(CNI_CACHE)) return [];
  const names = readdirSync(CNI_CACHE);
  const sandboxIds = names.flatMap((name) =>
    name.startsWith(`${instance.networkName}-`) ? (/-([0-9a-f]{64})-/.exec(name)?.[1] ?? []) : [],
  );
  return names.filter(
    (name) => name.startsWith(`${instance.networkName}-`) || sandboxIds.some((id) => name.includes(id)),
  );
}

function removeCniCache(instance: Instance): void {
  for (const name of cniCacheFiles(instance)) rmSync(join(CNI_CACHE, name), { force: true });
}

/** The plugins share these chains between users: remove them when they are empty and were not there before us. */
function removeCniFolders(before: MachineRecord | undefined): void {
  for (const folder of existingFolders(CNI_CACHE)) {
    if (before !== undefined && !before.folders.includes(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  }
}

/** The names of bridge, rules and cached results that still contain the instance's name. */
export async function networkLeftovers(instance: Instance): Promise<string[]> {
  const lists = await Promise.all(programs.map((program) => outputOf([`${program}-save`])));
  const rules = lists.flatMap((list) => list.split('\n'));
  const tablesLeft = await presentNftTables(instance);
  return [
    ...tablesLeft.map(([family, table]) => `nftables table ${family} ${table}`),
    ...ownDevices(instance)
      .filter((name) => existsSync(`/sys/class/net/${name}`))
      .map((name) => `network interface ${name}`),
    ...rules
      .filter(
        (rule) =>
          [instance.iptablesChain, overlayChainPrefix(instance)].some((name) => rule.includes(name)) ||
          rule.includes(`"${instance.networkName}\\"`),
      )
      .map((rule) => `iptables rule ${rule}`),
    ...cniCacheFiles(instance).map((name) => `CNI result ${name}`),
  ];
}
