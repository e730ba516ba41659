import { spawn } from 'node:child_process';

/**
 * Tells systemd how the service is. Node has no datagram sockets for unix paths, so systemd's own tool carries the message.
 * Without NOTIFY_SOCKET, and without the tool, it does nothing.
 */
export function systemdNotify(state: 'READY=1' | 'STOPPING=1' | 'WATCHDOG=1', env: NodeJS.ProcessEnv): void {
  if (env['NOTIFY_SOCKET'] === undefined || env['NOTIFY_SOCKET'] === '') return;
  const child = spawn('systemd-notify', [`--pid=${process.pid}`, state], { stdio: 'ignore', env });
  child.on('error', () => undefined);
  child.unref();
}

/** Half the time systemd allows between two signs of life, in milliseconds; undefined when it watches nobody (or is to be asked no more than once a second). */
export function watchdogPeriodMs(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const limitUs = Number(env['WATCHDOG_USEC'] ?? 0);
  const forPid = env['WATCHDOG_PID'];
  if (!(limitUs > 1_000_000) || (forPid !== undefined && Number(forPid) !== pid)) return undefined;
  return limitUs / 2000;
}
