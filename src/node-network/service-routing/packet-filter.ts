/** The part of the node's packet filter that service routing needs. */
export interface PacketFilter {
  /** Runs `iptables-save`: returns the tables nat and filter. */
  read(): Promise<string>;
  /**
   * Runs `iptables-restore --noflush`: each table changes completely or not at all. Throws `Internal` with the
   * program's message if a table was refused.
   */
  apply(text: string): Promise<void>;
}
