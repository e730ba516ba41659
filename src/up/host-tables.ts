/** Reads the kernel's tables as text and says which lines are ours. Pure: `down` acts on the answers. */
import { isAtOrBelow, parseMountInfo } from '../base/mount-info.ts';

/** Mount points at or beneath `folder`, deepest and newest first: the order in which they can be unmounted. */
export function selectMountsBelow(mountInfo: string, folder: string): string[] {
  return parseMountInfo(mountInfo)
    .map(({ path }) => path)
    .filter((path) => isAtOrBelow(path, folder))
    .reverse();
}

/**
 * Start time in clock ticks since boot, field 22 of /proc/PID/stat. Together with the pid it identifies a process until
 * the next boot.
 */
export function parseStartTicks(stat: string): string | undefined {
  // The command name in parentheses may contain blanks and parentheses too.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

export function parseParentPid(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** Whether a command line (NUL-separated) is a shim of the containerd that listens on `socket`. */
export function isShimOf(cmdline: string, socket: string): boolean {
  const args = cmdline.split('\u0000');
  const address = args.indexOf('-address');
  return /(^|\/)containerd-shim[^/]*$/.test(args[0] ?? '') && address > 0 && args[address + 1] === socket;
}

/** Whether `option` with `value` is in a command line (NUL-separated), as one word or two. */
export function hasOption(cmdline: string, option: string, value: string): boolean {
  const args = cmdline.split('\u0000');
  return args.includes(`${option}=${value}`) || args.some((word, at) => word === option && args[at + 1] === value);
}

/** The arguments of the iptables commands, for one table, that remove the rules and chains of an instance. */
export interface IptablesCleanUp {
  /** In this order: remove rules from shared chains, flush our chains, delete them. */
  readonly commands: string[][];
}

const sharedCniChains = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-SETMARK', 'CNI-HOSTPORT-MASQ'];

/**
 * `rules` is the output of `iptables -t TABLE -S`. These are ours: our own chain and jumps to it; the rules that the
 * CNI plugins wrote for our network (with its name in their comment) and the chains that those jump to; and the
 * plugins' shared chains, if they did not exist before us (`chainsBefore`) and no other pods use them.
 */
export function selectIptablesCleanUp(
  rules: string,
  own: { chain: string; networkName: string; chainsBefore: readonly string[] },
): IptablesCleanUp {
  const lines = rules
    .split('\n')
    .map(splitRule)
    .filter((args) => args.length > 1);
  const chains = new Set(lines.filter((args) => args[0] === '-N').map((args) => args[1] ?? ''));
  const added = lines.filter((args) => args[0] === '-A');
  const mark = `name: "${own.networkName}"`;
  const ofNetwork = added.filter((args) => args.some((arg) => arg.includes(mark)));
  const doomed = new Set<string>([
    own.chain,
    ...ofNetwork.map(jumpTarget).filter((target) => /^CNI-(DN-|[0-9a-f]{24}$)/.test(target)),
  ]);
  const othersUse = added.some((args) => args[1] === 'CNI-HOSTPORT-DNAT' && !ofNetwork.includes(args));
  if (!othersUse)
    sharedCniChains.filter((chain) => !own.chainsBefore.includes(chain)).forEach((chain) => doomed.add(chain));
  const present = [...doomed].filter((chain) => chains.has(chain));
  const rulesOut = added.filter(
    (args) => !present.includes(args[1] ?? '') && (ofNetwork.includes(args) || present.includes(jumpTarget(args))),
  );
  return {
    commands: [
      ...rulesOut.map((args) => ['-D', ...args.slice(1)]),
      ...present.map((chain) => ['-F', chain]),
      ...present.map((chain) => ['-X', chain]),
    ],
  };
}

/**
 * Chains that a kubelet creates for other programs, if no other kubelet has done so (`makeIPTablesUtilChains`), by
 * table.
 */
const kubeletChains = {
  mangle: ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY'],
  nat: ['KUBE-KUBELET-CANARY'],
  filter: ['KUBE-FIREWALL', 'KUBE-KUBELET-CANARY'],
} as const;
export type RuleTable = keyof typeof kubeletChains;
/** `iptables -t TABLE -S` of each table. */
export type RulesByTable = Readonly<Record<RuleTable, string>>;

/** kube-proxy creates this chain too, with the same rule. */
const FIREWALL = 'KUBE-FIREWALL';
const PROXY_CANARY = 'KUBE-PROXY-CANARY';
/** The comment of the only rule that our agent puts into it. */
const FIREWALL_COMMENT = 'block incoming localnet connections';
/** The kernel's chains from which our agent jumps to this chain. */
const firewallCallers = ['INPUT', 'OUTPUT'];

/** `TABLE CHAIN` for each existing chain that several programs of a machine share. */
export function sharedChains(rules: RulesByTable): string[] {
  return (Object.keys(kubeletChains) as RuleTable[]).flatMap((table) => {
    const shared: readonly string[] = [...kubeletChains[table], ...sharedCniChains];
    return chainNames(rules[table])
      .filter((chain) => shared.includes(chain))
      .map((chain) => `${table} ${chain}`);
  });
}

export const hasInstanceChain = ({ nat }: Pick<RulesByTable, 'nat'>, except?: string): boolean =>
  chainNames(nat).some((chain) => /^KTS-[0-9a-f]{8}$/.test(chain) && chain !== except);

/**
 * Arguments of the iptables commands that remove what our agents created for other programs: chains that did not exist
 * `before` the first instance (in the notation of `sharedChains`) and that contain nothing of other programs now.
 */
export function selectKubeletChainCleanUp(rules: RulesByTable, before: readonly string[]): string[][] {
  const hasProxy = Object.values(rules).some((text) => chainNames(text).includes(PROXY_CANARY));
  return (Object.keys(kubeletChains) as RuleTable[]).flatMap((table) => {
    const added = rules[table]
      .split('\n')
      .map(splitRule)
      .filter(([verb]) => verb === '-A');
    const present = chainNames(rules[table]);
    return kubeletChains[table]
      .filter((chain) => present.includes(chain) && !before.includes(`${table} ${chain}`))
      .flatMap((chain) => {
        const inside = added.filter((args) => args[1] === chain);
        const callers = added.filter((args) => jumpTarget(args) === chain).map((args) => args[1] ?? '');
        const isOurs =
          chain === FIREWALL
            ? !hasProxy &&
              inside.every((args) => args.includes(FIREWALL_COMMENT)) &&
              callers.every((caller) => firewallCallers.includes(caller))
            : inside.length + callers.length === 0;
        return isOurs
          ? [
              ...callers.map((caller) => ['-t', table, '-D', caller, '-j', chain]),
              ['-t', table, '-F', chain],
              ['-t', table, '-X', chain],
            ]
          : [];
      });
  });
}

/**
 * Whether a command line (NUL-separated) is that of a running kubelet: upstream's, a distribution that contains it, or
 * our agent, but not a command of `bin/kubelet`.
 */
export function isKubelet(cmdline: string): boolean {
  const args = cmdline.split('\u0000');
  if (/(^|\/)(kubelet|hyperkube|microshift|k3s|k0s|rke2)( |$)/.test(args[0] ?? '')) return true;
  const main = args.findIndex((text) => /\/(dist\/kubelet\.js|src\/kubelet\/cmd\/main\.ts)$/.test(text));
  return main > 0 && /^(-|$)/.test(args[main + 1] ?? '');
}

export function chainNames(rules: string): string[] {
  return rules.split('\n').flatMap((line) => (line.startsWith('-N ') ? [line.slice(3).trim()] : []));
}

function jumpTarget(args: readonly string[]): string {
  return args[args.indexOf('-j') + 1] ?? '';
}

/** Splits a line of `iptables -S` as a shell would: blanks separate, double quotes group, backslash escapes. */
function splitRule(line: string): string[] {
  return [...line.matchAll(/"((?:\\.|[^"\\])*)"|(\S+)/g)].map((match) =>
    match[1] === undefined ? (match[2] ?? '') : match[1].replace(/\\(.)/g, '$1'),
  );
}
