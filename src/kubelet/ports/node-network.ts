/** What the machine says of its network. */
export interface NodeNetwork {
  /** All addresses of all interfaces, and those of the interfaces the default routes lead over, by family. Cheap; throws nothing. */
  read(): { own: readonly string[]; defaults: { readonly v4?: string; readonly v6?: string } };
  /** What a name resolves to by the resolver of the machine; none when it does not. May take as long as the resolver does. */
  resolve(name: string): Promise<readonly string[]>;
}
