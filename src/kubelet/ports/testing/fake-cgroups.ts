import path from 'node:path/posix';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { CgroupLimits, Cgroups, CgroupValues } from '../cgroups.ts';

type CgroupOperation = 'ensure' | 'update' | 'remove' | 'kill';

/** A cgroup tree in memory, with processes that tests add to it. */
export class FakeCgroups implements Cgroups {
  readonly version: 1 | 2;
  readonly driver: 'cgroupfs' | 'systemd';
  readonly swapControl: boolean;
  /** The groups by name. The limits are the merge of all that were applied. */
  readonly groups = new Map<string, { limits: CgroupLimits; pids: Set<number> }>();
  /** PIDs that survive a kill, as processes in uninterruptible sleep do. */
  readonly unkillable = new Set<number>();
  /** The memory usage of groups in bytes; 0 by default. */
  readonly memoryUsage = new Map<string, number>();
  readonly calls: string[] = [];
  /** Returns the processes in a group in addition to those that tests add. */
  inhabitants: (name: string) => readonly number[] = () => [];
  readonly #faults: { op: CgroupOperation; name: string; kind: ErrorKind; times: number }[] = [];

  constructor(options: { version?: 1 | 2; driver?: 'cgroupfs' | 'systemd'; swapControl?: boolean } = {}) {
    this.version = options.version ?? 2;
    this.driver = options.driver ?? 'cgroupfs';
    this.swapControl = options.swapControl ?? false;
  }

  /** Fails the next `times` calls of `op` on `name` or below it. */
  fail(op: CgroupOperation, fault: { name: string; kind: ErrorKind; times?: number }): void {
    this.#faults.push({ op, name: fault.name, kind: fault.kind, times: fault.times ?? Number.POSITIVE_INFINITY });
  }

  addProcess(name: string, pid: number): void {
    if (!this.groups.has(name)) this.groups.set(name, { limits: {}, pids: new Set() });
    this.groups.get(name)?.pids.add(pid);
  }

  /** Removes a group without the agent's knowledge, as another program would. */
  vanish(name: string): void {
    for (const group of this.#below(name)) this.groups.delete(group);
  }

  limitsOf(name: string): CgroupLimits | undefined {
    return this.groups.get(name)?.limits;
  }

  runtimeParent(name: string): string {
    return name;
  }

  async exists(name: string): Promise<boolean> {
    return name === '/' || this.groups.has(name);
  }

  async missingPaths(name: string): Promise<readonly string[]> {
    return (await this.exists(name)) ? [] : [`/sys/fs/cgroup${name}`];
  }

  /**
   * Creates a group in two steps, as on a node: an agent that dies in between (`isAlive`) leaves a group without
   * limits.
   */
  async ensure(name: string, limits: CgroupLimits, isAlive: () => boolean = () => true): Promise<void> {
    this.#enter('ensure', name);
    for (let parent = path.dirname(name); parent !== '/'; parent = path.dirname(parent)) {
      if (!this.groups.has(parent)) this.groups.set(parent, { limits: {}, pids: new Set() });
    }
    if (!this.groups.has(name)) this.groups.set(name, { limits: {}, pids: new Set() });
    await Promise.resolve();
    const group = this.groups.get(name);
    if (group !== undefined && isAlive()) group.limits = { ...group.limits, ...withoutUndefined(limits) };
  }

  async update(name: string, limits: CgroupLimits): Promise<void> {
    this.#enter('update', name);
    const group = this.groups.get(name);
    if (group === undefined) throw new KubeletError('NotFound', `cgroup ${name} does not exist`);
    group.limits = { ...group.limits, ...withoutUndefined(limits) };
  }

  async read(name: string): Promise<CgroupValues> {
    const limits = this.groups.get(name)?.limits;
    if (limits === undefined) throw new KubeletError('NotFound', `cgroup ${name} does not exist`);
    const { cpuShares = 1024, cpuQuotaUs = 0, cpuPeriodUs = 100_000, memoryBytes = 0 } = limits;
    return {
      cpuShares,
      cpuQuotaUs: cpuQuotaUs === 0 ? -1 : cpuQuotaUs,
      cpuPeriodUs,
      memoryBytes: memoryBytes === 0 ? -1 : memoryBytes,
      memoryUsageBytes: this.memoryUsage.get(name) ?? 0,
    };
  }

  async remove(name: string): Promise<void> {
    this.#enter('remove', name);
    const below = this.#below(name);
    if (below.some((group) => (this.groups.get(group)?.pids.size ?? 0) > 0))
      throw new KubeletError('Conflict', `cgroup ${name} still has processes`);
    for (const group of below) this.groups.delete(group);
  }

  async processes(name: string): Promise<number[]> {
    return this.#below(name)
      .flatMap((group) => [...(this.groups.get(group)?.pids ?? []), ...this.inhabitants(group)])
      .sort((left, right) => left - right);
  }

  async kill(name: string): Promise<void> {
    this.#enter('kill', name);
    for (const group of this.#below(name)) {
      const pids = this.groups.get(group)?.pids;
      for (const pid of [...(pids ?? [])]) if (!this.unkillable.has(pid)) pids?.delete(pid);
    }
  }

  async children(name: string): Promise<string[]> {
    const prefix = name === '/' ? '/' : `${name}/`;
    return [...this.groups.keys()]
      .filter((group) => group.startsWith(prefix) && !group.slice(prefix.length).includes('/'))
      .map((group) => group.slice(prefix.length))
      .sort();
  }

  #below(name: string): string[] {
    return [...this.groups.keys()].filter((group) => group === name || group.startsWith(`${name}/`));
  }

  #enter(op: CgroupOperation, name: string): void {
    this.calls.push(`${op} ${name}`);
    const fault = this.#faults.find(
      (one) => one.op === op && one.times > 0 && (name === one.name || name.startsWith(`${one.name}/`)),
    );
    if (fault === undefined) return;
    fault.times--;
    throw new KubeletError(fault.kind, `${op} ${name}: scripted ${fault.kind}`);
  }
}

function withoutUndefined(limits: CgroupLimits): CgroupLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
