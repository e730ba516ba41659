/** One process that the kernel killed because memory ran out. */
export interface OomKill {
  /** `system`: the memory of the node ran out. `cgroup`: a cgroup exceeded its limit. */
  readonly scope: 'system' | 'cgroup';
  /** The kernel's path of the process's cgroup; undefined if the log does not name it clearly. */
  readonly victimGroup: string | undefined;
  /** The cgroup whose limit was exceeded; undefined for `system`, and if the log does not name it clearly. */
  readonly limitGroup: string | undefined;
  readonly process: string;
  readonly pid: number;
  /** The resident memory of the process, in bytes. */
  readonly processBytes: number;
  /** The usage of `limitGroup` and its limit, in bytes. */
  readonly usedBytes: number | undefined;
  readonly limitBytes: number | undefined;
}

/** The content of one report so far. Its size does not depend on the length of the report. */
export interface OomReport {
  readonly usedBytes?: number;
  readonly limitBytes?: number;
  readonly groups?: Groups;
}

interface Groups {
  readonly victim: string | undefined;
  readonly limit: string | undefined;
  readonly isSystem: boolean;
}

const KIB = 1024;
const START = ' invoked oom-killer: ';
const SUMMARY = 'oom-kill:constraint=';
const usage = /^memory: usage (\d{1,16})kB, limit (\d{1,16})kB,/;
/** The start of a report in kernels before 5.0. */
const LEGACY_START = 'Task in ';
const LEGACY_LIMIT = ' killed as a result of limit of ';
/**
 * Matches the line of a kill. It has the prefix `Memory cgroup out of memory: ` since 4.4, the UID before the sizes in
 * older kernels, and no prefix in those before 5.0. A process name has at most 15 characters, so it cannot imitate the
 * sizes that follow it.
 */
const killed =
  /^(?:(Memory cgroup out of memory|Out of memory(?: \([a-z_]{1,40}\))?): )?Killed process (\d{1,10})(?:, UID \d{1,10},)? \((.{0,64}?)\),?(?: UID \d{1,10},)? total-vm:\d{1,16}kB, anon-rss:(\d{1,16})kB, file-rss:(\d{1,16})kB(?:, shmem-rss:(\d{1,16})kB)?/;

/**
 * Reads the next line of the kernel's log. Returns the report to which the line belongs, undefined outside of a report,
 * and the kill that the line completes. Lines of other subsystems may be between those of a report. The kernel omits
 * the details after ten kills in five seconds, and for the other processes of a container with memory.oom.group. A kill
 * without details is reported only if the node ran out of memory. Source: mm/oom_kill.c and mm/memcontrol.c of Linux
 * 3.10 to 6.18.
 */
export function readOomLine(
  report: OomReport | undefined,
  line: string,
): { readonly report: OomReport | undefined; readonly kill?: OomKill } {
  if (line.includes(START)) return { report: {} };
  if (line.startsWith(SUMMARY)) return { report: { ...report, groups: summaryGroups(line) } };
  if (line.startsWith(LEGACY_START) && line.includes(LEGACY_LIMIT))
    return { report: { ...report, groups: legacyGroups(line) } };
  if (report !== undefined && line.startsWith('memory: ')) return { report: { ...report, ...usageOf(line) } };
  if (!line.includes('Killed process ')) return { report };
  const kill = killOf(line, report);
  return kill === undefined ? { report } : { report: undefined, kill };
}

function usageOf(line: string): Pick<OomReport, 'usedBytes' | 'limitBytes'> {
  const [, used, limit] = usage.exec(line) ?? [];
  return used === undefined || limit === undefined
    ? {}
    : { usedBytes: Number(used) * KIB, limitBytes: Number(limit) * KIB };
}

/**
 * Parses `oom-kill:constraint=C,nodemask=N,cpuset=S,mems_allowed=M,oom_memcg=L,task_memcg=V,task=P,pid=1,uid=0`, with
 * `global_oom` instead of `oom_memcg=L` for the node. The kernel does not escape commas, and containers may choose the
 * names of their sub-groups and processes. So a key that occurs twice makes the groups unclear.
 */
function summaryGroups(line: string): Groups {
  const limit = only(line, ',oom_memcg=');
  const global = only(line, ',global_oom,');
  const victim = only(line, ',task_memcg=');
  const task = only(line, ',task=');
  if (victim === undefined || task === undefined || task < victim) return unclear;
  const group = line.slice(victim + ',task_memcg='.length, task);
  const isGlobal = !line.includes(',oom_memcg=') && global !== undefined && global < victim;
  if (isGlobal) return { victim: group, limit: undefined, isSystem: true };
  if (limit === undefined || line.includes(',global_oom,') || limit > victim) return unclear;
  const limitGroup = line.slice(limit + ',oom_memcg='.length, victim);
  return { victim: group, limit: limitGroup, isSystem: limitGroup === '/' };
}

const unclear: Groups = { victim: undefined, limit: undefined, isSystem: false };

function legacyGroups(line: string): Groups {
  const split = only(line, LEGACY_LIMIT);
  if (split === undefined) return unclear;
  const limit = line.slice(split + LEGACY_LIMIT.length);
  return { victim: line.slice(LEGACY_START.length, split), limit, isSystem: limit === '/' };
}

/** Returns the position of this part, if the text contains it exactly once. */
function only(text: string, part: string): number | undefined {
  const at = text.indexOf(part);
  return at < 0 || text.includes(part, at + 1) ? undefined : at;
}

function killOf(line: string, report: OomReport | undefined): OomKill | undefined {
  const [matched, prefix, pid, process = '', anon, file, shared = '0'] = killed.exec(line) ?? [];
  if (matched === undefined) return undefined;
  const { groups, usedBytes, limitBytes } = report ?? {};
  const isCgroup = prefix?.startsWith('Memory cgroup') ?? (groups !== undefined && !groups.isSystem);
  if (report === undefined && (isCgroup || prefix === undefined)) return undefined;
  const isSystem = groups?.isSystem === true || !isCgroup;
  return {
    scope: isSystem ? 'system' : 'cgroup',
    victimGroup: groups?.victim,
    limitGroup: isSystem ? undefined : groups?.limit,
    process,
    pid: Number(pid),
    processBytes: (Number(anon) + Number(file) + Number(shared)) * KIB,
    usedBytes: isSystem ? undefined : usedBytes,
    limitBytes: isSystem ? undefined : limitBytes,
  };
}
