/** An error in the text of an expression, and its position. */
export class SyntaxFault extends Error {
  /** In code units of the source. */
  readonly start: number;

  constructor(message: string, start: number) {
    super(message);
    this.start = start;
  }
}
