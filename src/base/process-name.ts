import { writeFileSync } from 'node:fs';

/**
 * Gives this process the name of its program, by which `pgrep`, `top` and monitoring find it; Node calls every process
 * `node-MainThread`. The kernel keeps 15 bytes. `process.title` would overwrite the arguments that `ps` and
 * `/proc/PID/cmdline` show. The launchers in `bin/` set the first argument, which `pidof` reads.
 */
export function nameProcess(name: string): void {
  try {
    writeFileSync('/proc/self/comm', name);
  } catch {
    return; // Without /proc the process keeps Node's name.
  }
}
