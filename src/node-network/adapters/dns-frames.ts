const LENGTH_BYTES = 2;

/** Over TCP a length of two bytes precedes each DNS message. */
export function tcpFrame(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** Splits a stream into messages. Buffers at most one message of 64 KiB, and copies each byte once. */
export class TcpFrames {
  readonly #onMessage: (message: Buffer) => void;
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  /** Absent while the length is read. */
  #message: Buffer | undefined;
  #filled = 0;

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  /** The announced length of the current message; undefined between two messages. */
  get announced(): number | undefined {
    return this.#message?.length;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const target = this.#message ?? this.#length;
      const copied = chunk.copy(target, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === target.length) this.#finish();
    }
  }

  #finish(): void {
    this.#filled = 0;
    if (this.#message === undefined) {
      this.#message = Buffer.alloc(this.#length.readUInt16BE(0));
      if (this.#message.length > 0) return;
    }
    const message = this.#message;
    this.#message = undefined;
    this.#onMessage(message);
  }
}
