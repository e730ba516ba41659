/**
 * Runs a program of the operator, without a shell and with limited output. At the deadline it is killed with its
 * process group. `env` is added to the agent's own environment. A non-zero exit code is a result. Rejects with
 * NotFound, Unavailable (not started), Timeout, or Invalid (too much output).
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
