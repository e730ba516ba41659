/** The machine's packet filter for one family of addresses, by the program `iptables` or `ip6tables`. */
export interface Iptables {
  readonly family: 'IPv4' | 'IPv6';
  /** Waits for whoever holds the lock. An exit code is an answer: 1 says that a chain is there already, or that a rule is not. Rejects with KubeletError where the program cannot be run. */
  run(args: readonly string[]): Promise<{ readonly exitCode: number; readonly stderr: string }>;
}
