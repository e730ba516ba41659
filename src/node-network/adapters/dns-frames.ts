/** Over TCP each DNS message has its length before it, in two bytes. */
export function tcpFrame(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** Cuts a stream into messages. Holds at most one message of 64 KiB. */
export class TcpFrames {
  readonly #onMessage: (message: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  push(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      const end = 2 + bytes.readUInt16BE(0);
      this.#onMessage(bytes.subarray(2, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}
