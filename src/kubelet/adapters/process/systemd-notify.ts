import { spawn } from 'node:child_process';
import { childEnvironment } from './linux-killable.ts';

/**
 * Reports the state of the service to systemd. Node has no datagram sockets for unix paths, so systemd's own tool sends
 * the message. Without NOTIFY_SOCKET or the tool, it does nothing.
 */
export function systemdNotify(state: 'READY=1' | 'STOPPING=1' | 'WATCHDOG=1', env: NodeJS.ProcessEnv): void {
  const socket = env['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') return;
  const child = spawn('systemd-notify', [`--pid=${process.pid}`, state], {
    stdio: 'ignore',
    env: { ...childEnvironment, NOTIFY_SOCKET: socket },
  });
  child.on('error', () => undefined);
  child.unref();
}

/**
 * Returns half of systemd's watchdog interval, in milliseconds; undefined if the watchdog is off or the interval is
 * below one second.
 */
export function watchdogPeriodMs(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const limitUs = Number(env['WATCHDOG_USEC'] ?? 0);
  const forPid = env['WATCHDOG_PID'];
  if (!(limitUs > 1_000_000) || (forPid !== undefined && Number(forPid) !== pid)) return undefined;
  return limitUs / 2000;
}
