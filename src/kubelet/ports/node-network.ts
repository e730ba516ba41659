/** The network configuration of the machine. */
export interface NodeNetwork {
  /**
   * Returns all addresses of all interfaces, and those of the interfaces with default routes, by family. It is cheap
   * and never throws.
   */
  read(): { own: readonly string[]; defaults: { readonly v4?: string; readonly v6?: string } };
  /**
   * Returns the addresses of a name from the machine's resolver; empty if it does not resolve. It may take as long as
   * the resolver does.
   */
  resolve(name: string): Promise<readonly string[]>;
}
