/** The node's packet filter, as far as service routing needs it. */
export interface PacketFilter {
  /** `iptables-save`: the tables nat and filter as they are. */
  read(): Promise<string>;
  /**
   * `iptables-restore --noflush`: each table changes at once or not at all. Throws `Internal` with the program's words
   * when a table was refused.
   */
  apply(text: string): Promise<void>;
}
