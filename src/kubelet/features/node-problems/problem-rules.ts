/** The problems of the machine that the kernel reports, with the names of node-problem-detector. */

export interface ProblemCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** The conditions of a machine without problems. */
export const healthyConditions: readonly ProblemCondition[] = [
  { type: 'KernelDeadlock', status: 'False', reason: 'KernelHasNoDeadlock', message: 'kernel has no deadlock' },
  {
    type: 'ReadonlyFilesystem',
    status: 'False',
    reason: 'FilesystemIsNotReadOnly',
    message: 'Filesystem is not read-only',
  },
  { type: 'XfsShutdown', status: 'False', reason: 'XfsHasNotShutDown', message: 'XFS has not shutdown' },
];

interface ProblemRule {
  readonly reason: string;
  /** The cost of the pattern is linear in the line: no part can match a text in several ways. */
  readonly pattern: RegExp;
  /** The condition that becomes true until the next boot. Without it, the problem is only an event. */
  readonly condition?: string;
}

/** The rules. The first one that matches is used. */
const rules: readonly ProblemRule[] = [
  {
    reason: 'DockerHung',
    condition: 'KernelDeadlock',
    pattern: /\btask dockerd?:\d+ blocked for more than \d+ seconds\./,
  },
  {
    reason: 'RuntimeHung',
    condition: 'KernelDeadlock',
    pattern:
      /\btask (?:containerd|containerd-shim|runc|crio|conmon)(?:[:-][\w:-]{0,15})?:\d+ blocked for more than \d+ seconds\./,
  },
  { reason: 'TaskHung', pattern: /\btask .{1,64}:\d+ blocked for more than \d+ seconds\./ },
  { reason: 'FilesystemIsReadOnly', condition: 'ReadonlyFilesystem', pattern: /Remounting filesystem read-only/ },
  { reason: 'XfsHasShutdown', condition: 'XfsShutdown', pattern: /^XFS .*Shutting down filesystem/ },
  {
    reason: 'UnregisterNetDevice',
    pattern: /unregister_netdevice: waiting for \S{1,32} to become free\. Usage count = \d+/,
  },
  { reason: 'KernelOops', pattern: /BUG: (?:unable to handle kernel|kernel) NULL pointer dereference/ },
  { reason: 'KernelOops', pattern: /divide error: 0000 \[#\d+\]/ },
  { reason: 'Ext4Error', pattern: /^EXT4-fs error / },
  { reason: 'Ext4Warning', pattern: /^EXT4-fs warning / },
  { reason: 'IOError', pattern: /Buffer I\/O error / },
  { reason: 'MemoryReadError', pattern: /CE memory read error / },
];

/**
 * Reads a line of the kernel; undefined if it reports no problem. Kills for lack of memory are handled by the OOM
 * watcher.
 */
export function readProblem(text: string): { readonly reason: string; readonly condition?: string } | undefined {
  return rules.find(({ pattern }) => pattern.test(text));
}

const MESSAGE_LIMIT = 256;

/**
 * Adds the problem of a line to the conditions. Returns the same list if nothing changes. The first report of a problem
 * is kept, because later ones are its consequences.
 */
export function addProblem(conditions: readonly ProblemCondition[], text: string): readonly ProblemCondition[] {
  const { condition, reason } = readProblem(text) ?? {};
  const old = conditions.find(({ type }) => type === condition);
  if (old === undefined || old.status === 'True' || reason === undefined) return conditions;
  const message = text.slice(0, MESSAGE_LIMIT);
  return conditions.map((each) => (each === old ? { type: each.type, status: 'True', reason, message } : each));
}
