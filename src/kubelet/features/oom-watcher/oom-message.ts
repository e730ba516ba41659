import type { OomPlace } from './oom-place.ts';
import type { OomKill } from './oom-report.ts';

/** Returns upstream's message (upstream: oom_watcher_linux.go Start). */
export function systemOomMessage({ process, pid }: Pick<OomKill, 'process' | 'pid'>): string {
  return process === '' || pid === 0
    ? 'System OOM encountered'
    : `System OOM encountered, victim process: ${process}, pid: ${pid}`;
}

/**
 * Describes the usage, the limit and the killed process. It leaves out the PID, so that repeated kills count as one
 * event.
 */
export function podOomMessage(kill: OomKill, { container, limit }: Pick<OomPlace, 'container' | 'limit'>): string {
  const victim = container === undefined ? 'a process' : `a process of container ${container.name}`;
  return `${exceeded(kill, { container, limit })}; the kernel killed ${victim}: ${kill.process}`;
}

/** Returns the message for the status of a container that ended. */
export function containerOomMessage(kill: OomKill, place: Pick<OomPlace, 'container' | 'limit'>): string {
  return `${exceeded(kill, place)}; process ${kill.process} (pid ${kill.pid}) used ${sizeText(kill.processBytes)}`;
}

function exceeded(kill: OomKill, { container, limit }: Pick<OomPlace, 'container' | 'limit'>): string {
  if (limit === 'node') return 'The node ran out of memory';
  const owner = ownerText(limit, container?.name);
  if (kill.usedBytes === undefined || kill.limitBytes === undefined) return `The memory limit of ${owner} was exceeded`;
  return `The memory limit of ${owner} was exceeded: ${sizeText(kill.usedBytes)} used of ${sizeText(kill.limitBytes)}`;
}

function ownerText(limit: Exclude<OomPlace['limit'], 'node'>, container: string | undefined): string {
  switch (limit) {
    case 'container':
      return container === undefined ? 'the sandbox' : `container ${container}`;
    case 'inside':
      return `a cgroup inside ${container === undefined ? 'a container' : `container ${container}`}`;
    case 'pod':
      return 'the pod';
    case 'allPods':
      return 'all pods of the node';
    case 'unknown':
      return 'a cgroup';
  }
}

/** Formats a size: `32Mi`, `31.5Mi`, `1.2Gi`. */
function sizeText(bytes: number): string {
  const [unit, name] = bytes >= 2 ** 30 ? [2 ** 30, 'Gi'] : bytes >= 2 ** 20 ? [2 ** 20, 'Mi'] : [2 ** 10, 'Ki'];
  return `${Math.round((bytes / unit) * 10) / 10}${name}`;
}
