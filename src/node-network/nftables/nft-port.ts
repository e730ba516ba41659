/** The kernel's nftables, as far as this program needs them. */
export interface Nft {
  /**
   * `nft -f -`: all commands of the text in one transaction, so packets see all of them or none. Throws `Internal` with
   * the program's words when the kernel refused, `NotFound` when the program is missing.
   */
  apply(text: string): Promise<void>;
  /** The table without the elements of its sets; '' when there is none. */
  show(family: string, table: string): Promise<string>;
}
