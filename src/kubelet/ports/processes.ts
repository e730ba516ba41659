/**
 * Runs a program of the operator: argv only, never a shell; bounded output; killed with its whole process group at the
 * deadline. `env` is added to the agent's own environment. A non-zero exit is a result. Rejects with NotFound,
 * Unavailable (not started), Timeout, Invalid (too much output).
 */
export interface Processes {
  run(
    program: string,
    args: readonly string[],
    options: {
      stdin?: string;
      env?: Readonly<Record<string, string>>;
      timeoutMs: number;
      outputLimitBytes: number;
      cwd?: string;
    },
  ): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}
