/** What is wrong with the text of an expression, and where. */
export class SyntaxFault extends Error {
  /** In code units of the source. */
  readonly start: number;

  constructor(message: string, start: number) {
    super(message);
    this.start = start;
  }
}
