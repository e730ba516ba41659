/** The network configuration of the machine. */
export interface NodeNetwork {
  /**
   * All addresses of all interfaces, and those of the interfaces with default routes, by family. Cheap; throws nothing.
   */
  read(): { own: readonly string[]; defaults: { readonly v4?: string; readonly v6?: string } };
  /**
   * The addresses of a name from the machine's resolver; empty when it does not resolve. May take as long as the
   * resolver does.
   */
  resolve(name: string): Promise<readonly string[]>;
}
