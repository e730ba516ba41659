import { KubeletError, errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { KernelTunables } from '../../ports/node-settings.ts';

/** Upstream: cm/container_manager_linux.go setupKernelTunables, k8s.io/component-helpers/node/util/sysctl. */
export const wantedTunables: ReadonlyMap<string, number> = new Map([
  // Allow overcommit of memory: the limits of cgroups apply, not the total of allocations.
  ['vm/overcommit_memory', 1],
  // The OOM killer acts instead of a panic.
  ['vm/panic_on_oom', 0],
  // After a panic the kernel reboots within ten seconds,
  ['kernel/panic', 10],
  // also after an oops.
  ['kernel/panic_on_oops', 1],
  // Every container has kernel keys, which count against root's quota.
  ['kernel/keys/root_maxkeys', 1_000_000],
  ['kernel/keys/root_maxbytes', 25_000_000],
]);

/** undefined: the kernel does not say. */
export type TunableValues = ReadonlyMap<string, number | undefined>;

export interface TunablePlan {
  readonly changes: readonly { readonly name: string; readonly from: number; readonly to: number }[];
  /** Why the node cannot be used as it is, in upstream's words. */
  readonly problems: readonly string[];
}

/** `isProtected`: settings are verified and not changed (protectKernelDefaults). */
function planTunables(values: TunableValues, isProtected: boolean): TunablePlan {
  const wrong = [...wantedTunables].flatMap(([name, to]) => {
    const from = values.get(name);
    return from === undefined || from === to ? [] : [{ name, from, to }];
  });
  if (!isProtected) return { changes: wrong, problems: [] };
  const problems = wrong.map(
    ({ name, from, to }) => `invalid kernel flag: ${name}, expected value: ${to}, actual value: ${from}`,
  );
  return { changes: [], problems };
}

export interface TunableParts {
  readonly tunables: KernelTunables;
  /** protectKernelDefaults */
  readonly isProtected: boolean;
  readonly log: Logger;
}

/**
 * Sets the kernel's settings, or verifies them. Rejects with Invalid, as upstream, where a protected setting differs, and
 * where a setting cannot be read or changed. All problems are named at once.
 */
export async function setUpTunables({ tunables, isProtected, log }: TunableParts): Promise<void> {
  const values = new Map<string, number | undefined>();
  const failures: string[] = [];
  for (const name of wantedTunables.keys()) {
    try {
      values.set(name, await tunables.read(name));
    } catch (error) {
      failures.push(errorMessage(error));
    }
  }
  const { changes, problems } = planTunables(values, isProtected);
  for (const { name, from, to } of changes) {
    try {
      await tunables.write(name, to);
      log.info('a setting of the kernel was changed', { name, from, to });
    } catch (error) {
      failures.push(`${errorMessage(error)} (set ${name.replaceAll('/', '.')}=${to} on the machine, it is ${from})`);
    }
  }
  const all = [...failures, ...problems];
  if (all.length > 0) throw new KubeletError('Invalid', aggregate(all), { op: 'set up the kernel' });
}

/** As upstream joins errors. */
function aggregate(problems: readonly string[]): string {
  return problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
}
