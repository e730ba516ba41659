import { KubeletError, errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { KernelTunables } from '../../ports/node-settings.ts';

/**
 * The required kernel settings (upstream: cm/container_manager_linux.go setupKernelTunables,
 * k8s.io/component-helpers/node/util/sysctl).
 */
export const wantedTunables: ReadonlyMap<string, number> = new Map([
  // Allow overcommit of memory, because the limits of cgroups apply instead of the total of allocations.
  ['vm/overcommit_memory', 1],
  // Run the OOM killer instead of a panic.
  ['vm/panic_on_oom', 0],
  // Reboot ten seconds after a panic.
  ['kernel/panic', 10],
  // Panic after an oops, too.
  ['kernel/panic_on_oops', 1],
  // Every container has kernel keys, which count against the quota of root.
  ['kernel/keys/root_maxkeys', 1_000_000],
  ['kernel/keys/root_maxbytes', 25_000_000],
]);

/** The current values; undefined for a setting that the kernel does not report. */
export type TunableValues = ReadonlyMap<string, number | undefined>;

export interface TunablePlan {
  readonly changes: readonly { readonly name: string; readonly from: number; readonly to: number }[];
  /** The reasons why the node cannot be used, in upstream's words. */
  readonly problems: readonly string[];
}

/** Plans the changes. `isProtected` means that settings are verified and not changed (protectKernelDefaults). */
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
  /** The field protectKernelDefaults. */
  readonly isProtected: boolean;
  readonly log: Logger;
}

/**
 * Sets the kernel's settings, or verifies them. Rejects with Invalid, as upstream, if a protected setting differs or a
 * setting cannot be read or changed. The error lists all problems.
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

/** Joins errors as upstream does. */
function aggregate(problems: readonly string[]): string {
  return problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
}
