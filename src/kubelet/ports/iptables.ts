/** The machine's packet filter for one address family, through the program `iptables` or `ip6tables`. */
export interface Iptables {
  readonly family: 'IPv4' | 'IPv6';
  /**
   * Runs the program, and waits for the xtables lock. An exit code is a result: 1 means that a chain already exists, or
   * that a rule does not. Rejects with KubeletError if the program cannot be run.
   */
  run(args: readonly string[]): Promise<{ readonly exitCode: number; readonly stderr: string }>;
}
