/** The part of the kernel's nftables that this program needs. */
export interface Nft {
  /**
   * Runs `nft -f -`: all commands of the text in one transaction, so packets see all changes or none. Throws `Internal`
   * with the program's message if the kernel refused, and `NotFound` if the program is missing.
   */
  apply(text: string): Promise<void>;
  /** Returns the table without the elements of its sets; '' if there is none. */
  show(family: string, table: string): Promise<string>;
}
