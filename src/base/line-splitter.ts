/**
 * Cuts text that arrives in pieces into lines. The pieces of a line are joined when its end comes: joining each with the
 * next one would copy a long line again and again.
 */
export class LineSplitter {
  #pieces: string[] = [];
  #length = 0;

  /** The length of the incomplete line, in UTF-16 units. */
  get heldLength(): number {
    return this.#length;
  }

  /** Adds a piece. Returns the lines that it completes, without their line ends. */
  push(text: string): readonly string[] {
    const [first = '', ...others] = text.split('\n');
    const held = others.pop();
    if (held === undefined) {
      this.#hold(first);
      return [];
    }
    const line = this.#pieces.length === 0 ? first : [...this.#pieces, first].join('');
    this.#pieces = [];
    this.#length = 0;
    this.#hold(held);
    return [line, ...others];
  }

  #hold(text: string): void {
    if (text === '') return;
    this.#pieces.push(text);
    this.#length += text.length;
  }
}
