import type { AdjustableLogger } from '../../base/pino-log.ts';
import type { ProcessFacts } from './servers/compose-server.ts';
import type { AgentFlags } from './flags/flags-values-agent.ts';
import { KUBERNETES_VERSION } from './flags/flags-version.ts';

/** Returns what /flagz, /statusz and /debug show of this process. `log` is the root of all loggers. */
export function processFacts(flags: AgentFlags, log: AdjustableLogger): ProcessFacts {
  const shown = Object.fromEntries(Object.entries(flags).map(([name, value]) => [flagName(name), textOf(value)]));
  const startedAtMs = Date.now() - process.uptime() * 1000;
  return {
    setVerbosity: (level) => {
      log.setVerbosity(level);
      log.info('The verbosity of the log was changed', { verbosity: level });
    },
    flags: () => shown,
    about: () => ({
      startedAtMs,
      version: KUBERNETES_VERSION,
      engine: `Node.js ${process.version}`,
      commandLine: process.argv,
    }),
  };
}

const flagName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
