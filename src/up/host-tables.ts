/** Reads the kernel's tables as text and says which lines are ours. Pure: `down` acts on the answers. */

/** Mount points at or beneath `folder`, deepest and newest first: the order in which they can be unmounted. */
export function selectMountsBelow(mountinfo: string, folder: string): string[] {
  return parseMountPoints(mountinfo)
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .reverse();
}

/** Field 5 of each line of /proc/self/mountinfo, with the kernel's octal escapes undone. */
export function parseMountPoints(mountinfo: string): string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const point = line.split(' ')[4];
    return point === undefined
      ? []
      : [point.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))];
  });
}

/** Start time in clock ticks since boot, field 22 of /proc/PID/stat: with it a pid is unmistakable until the next boot. */
export function parseStartTicks(stat: string): string | undefined {
  // The command name, in parentheses, may hold anything, blanks and parentheses too.
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

/** The arguments of iptables commands, for one table, that remove what belongs to an instance. */
export interface IptablesCleanUp {
  /** In order: rules out of shared chains, then own chains emptied, then deleted. */
  commands: string[][];
}

const SHARED_CNI_CHAINS = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-SETMARK', 'CNI-HOSTPORT-MASQ'];

/**
 * `rules` is `iptables -t TABLE -S`. Ours are: our own chain and jumps to it; the rules the CNI plugins wrote for our network
 * (its name stands in their comment) and the chains those jump to; and the plugins' shared chains if they were not there
 * before us (`chainsBefore`) and nobody else's pods use them.
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
    SHARED_CNI_CHAINS.filter((chain) => !own.chainsBefore.includes(chain)).forEach((chain) => doomed.add(chain));
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

const HINTS = {
  mangle: ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY'],
  nat: ['KUBE-KUBELET-CANARY'],
  filter: ['KUBE-FIREWALL', 'KUBE-KUBELET-CANARY'],
} as const;

/** Whether somebody who is none of us made the chains that kubelets make: `natChains` are those of the table nat. Our own instances are known by their chains. */
export function haveOthersMadeHints(natChains: readonly string[]): boolean {
  return natChains.includes('KUBE-KUBELET-CANARY') && !natChains.some(isInstanceChain);
}

/**
 * Commands that remove the chains an agent makes for other programs (makeIPTablesUtilChains), which are everybody's: the last instance of this machine
 * removes them, unless others had made them before (`othersMadeThem`).
 */
export function selectHintCleanUp(
  natChains: readonly string[],
  own: { chain: string; othersMadeThem: boolean },
): string[][] {
  if (own.othersMadeThem || natChains.some((chain) => isInstanceChain(chain) && chain !== own.chain)) return [];
  const jumps = ['INPUT', 'OUTPUT'].map((chain) => ['-t', 'filter', '-D', chain, '-j', 'KUBE-FIREWALL']);
  const chains = Object.entries(HINTS).flatMap(([table, names]) =>
    names.flatMap((name) => ['-F', '-X'].map((verb) => ['-t', table, verb, name])),
  );
  return [...jumps, ...chains];
}

const isInstanceChain = (chain: string): boolean => /^KTS-[0-9a-f]{8}$/.test(chain);

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
