import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { errorKind, errorMessage } from '../../base/errors.ts';
import { nameProcess } from '../../base/process-name.ts';
import { printable } from '../../base/printable.ts';
import { parseCommandLine } from './cli/command-line.ts';
import { completionScript, isShell, shells } from './flags/completion.ts';
import { formatConfigError } from './config/config-error.ts';
import { loadKubeletConfig } from './config/config-load.ts';
import type { CommandName } from './flags/flags-commands.ts';
import { commands } from './flags/flags-commands.ts';
import { commandHelpText } from './flags/flags-help.ts';
import { versionText } from './flags/flags-version.ts';
import type { AgentSettings } from './run-agent.ts';

/** The exit code if the command line is invalid or the agent cannot do what it requests. */
const FAILED = 1;

async function main(argv: readonly string[]): Promise<number | undefined> {
  // The reader has closed the pipe, as in: kubelet logs web | head
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : FAILED));
  const result = loadKubeletConfig(argv, {
    readFile: (path) => readFileSync(path, 'utf8'),
    listDir: (path) =>
      readdirSync(path, { withFileTypes: true }).map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() })),
  });
  switch (result.kind) {
    case 'error':
      for (const error of result.errors) process.stderr.write(`${formatConfigError(error)}\n`);
      return FAILED;
    case 'help':
    case 'version':
      process.stdout.write(result.text);
      return 0;
    case 'command':
      return runCommand(result.name, result.args);
    case 'run':
      return runAgent(result);
  }
}

async function runCommand(name: CommandName, args: readonly string[]): Promise<number> {
  const spec = commands.find((candidate) => candidate.name === name);
  if (spec === undefined) return FAILED;
  const line = parseCommandLine(spec, args);
  if (line.help) {
    process.stdout.write(commandHelpText(spec));
    return 0;
  }
  if (name === 'version') {
    process.stdout.write(versionText());
    return 0;
  }
  if (name === 'completion') return printCompletion(line.positionals[0] ?? '');
  // Loaded only here, so that the agent does without them.
  const [{ ApiClient, findSocket }, { agentCommands }, { processTerminal }] = await Promise.all([
    import('./cli/api-client.ts'),
    import('./cli/commands.ts'),
    import('./cli/process-terminal.ts'),
  ]);
  const socket =
    line.values['root-dir'] === undefined ? line.values['socket'] : `${line.values['root-dir']}/kubelet.sock`;
  const client = new ApiClient(findSocket(socket, process.env));
  return agentCommands[name](line, { client, terminal: processTerminal, nowMs: () => Date.now() });
}

function printCompletion(shell: string): number {
  if (!isShell(shell)) {
    process.stderr.write(`kubelet: completion is for ${shells.join(', ')}; as in: kubelet completion bash\n`);
    return FAILED;
  }
  process.stdout.write(completionScript(shell));
  return 0;
}

/** Runs until a signal ends it. Containers keep running. */
async function runAgent(settings: AgentSettings): Promise<number> {
  nameProcess('kubelet');
  // Loaded only here, so that the commands start without what they do not need.
  const { agentLog, startAgent } = await import('./run-agent.ts');
  const log = agentLog(settings.config);
  process.on('unhandledRejection', (reason) =>
    log.error('a promise was rejected without a handler; this is a bug of the agent', { error: stackOf(reason) }),
  );
  process.on('uncaughtException', (error) => {
    log.error('uncaught exception; the agent exits, containers keep running, and the next agent takes them over', {
      error: stackOf(error),
    });
    process.exit(255);
  });
  // The reader of the log may end, for example when journald restarts. The agent keeps running.
  process.stderr.on('error', () => undefined);
  const leave = firstSignal();
  const agent = await Promise.race([startAgent(settings, log), leave.then(() => undefined)]);
  const reason = await Promise.race([
    leave,
    agent?.contended.then(() => 'another process wants the lock file') ?? leave,
  ]);
  log.info(settings.flags.shutdownOnSigterm ? 'leaving the node' : 'leaving the node; containers stay', {
    signal: reason,
  });
  await agent?.stop(reason);
  return 0;
}

/**
 * Resolves with the first signal. The second ends the process immediately. Before the agent has started, there is
 * nothing to stop in order.
 */
function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(128 + constants.signals[signal]);
        asked = true;
        resolve(signal);
      });
    }
  });
}

function stackOf(reason: unknown): string {
  return reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
}

try {
  const exitCode = await main(process.argv.slice(2));
  // A full pipe leaves data in the buffer, which process.exit would lose: kubelet pods -o json | slow-reader
  if (process.stdout.writableLength > 0)
    await new Promise<void>((resolve) => void process.stdout.write('', () => resolve()));
  process.exit(exitCode);
} catch (error) {
  const text = errorKind(error) === 'Internal' ? stackOf(error) : errorMessage(error);
  process.stderr.write(`kubelet: ${printable(text)}\n`);
  process.exit(FAILED);
}
