import { parseExactJson } from './exact-json.ts';
import { PackedBytes } from './packed-bytes.ts';

/**
 * A large JSON value that is seldom read, kept as compressed text: about a tenth of the memory of the value. The value
 * is parsed when it is read, and stays the same object as long as a reader holds it, at least until the current task of
 * the event loop ends. It must not be changed.
 */
export class PackedJson {
  readonly #text: PackedBytes;
  #parsed: WeakRef<object>;

  constructor(value: object) {
    this.#text = new PackedBytes(JSON.stringify(value));
    // Readers in the near future need not parse it.
    this.#parsed = new WeakRef(value);
  }

  get value(): object {
    let value = this.#parsed.deref();
    if (value === undefined) {
      value = parseExactJson(this.#text.bytes.toString('utf8')) as object;
      this.#parsed = new WeakRef(value);
    }
    return value;
  }
}
