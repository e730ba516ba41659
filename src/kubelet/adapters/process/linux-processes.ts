import { programEnvironment, writableByAll } from '../../../base/program-environment.ts';
import { KubeletError } from '../../../base/errors.ts';
import { runProgram } from '../../../base/run-program.ts';
import type { Processes } from '../../ports/processes.ts';

/**
 * Runs programs of the operator and of the machine (`runProgram`). `env` is added to the agent's environment, without
 * variables meant for the agent alone. A program that any user of the machine could replace is not run, because it
 * would run as root.
 */
export const linuxProcesses: Processes = {
  async run(program, args, { env, ...options }) {
    const weak = program.startsWith('/') && process.geteuid?.() === 0 ? writableByAll(program) : undefined;
    if (weak !== undefined)
      throw new KubeletError('Invalid', `${program} is not run: any user may change ${weak}`, { op: 'run' });
    return runProgram(program, args, { ...options, env: programEnvironment(process.env, env) });
  },
};
