// Commands and requests of the tests of `up`.
import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { machineEnvironment } from '../../../src/up/commands.ts';

export interface CommandResult {
  readonly status: number | null;
  readonly output: string;
}

/** Runs a command to its end, with its own home folder. */
export function runCommand(
  { home, timeoutMs = 120_000 }: { readonly home: string; readonly timeoutMs?: number },
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...machineEnvironment(), HOME: home, ...environment },
      timeout: timeoutMs,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('close', (status) => resolve({ status, output }));
  });
}

/** The pod that answered; undefined if none did. */
export function servedBy(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const call = get(url, { timeout: 2000, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? String(answer.headers['x-served-by']) : undefined);
    });
    call.on('timeout', () => call.destroy());
    call.on('error', () => resolve(undefined));
  });
}
