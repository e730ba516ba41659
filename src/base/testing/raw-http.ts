import { once } from 'node:events';
import type { Socket } from 'node:net';

/** The answer to a request: a status, or the end of the connection without one. */
export type RawAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string }
  | { readonly kind: 'closed' };

/** A connection that sends heads unchanged and reads answers one after the other. */
class RawConnection {
  readonly #socket: Socket;
  #seen = '';
  #isClosed = false;
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.#seen += text;
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed || this.#socket.readableEnded;
  }

  async exchange(head: string, isHead: boolean): Promise<RawAnswer> {
    this.#socket.write(head, 'latin1');
    for (;;) {
      const answer = this.#take(isHead);
      if (answer !== undefined) return answer;
      if (this.#isClosed) return { kind: 'closed' };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(isHead: boolean): RawAnswer | undefined {
    const end = this.#seen.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const head = this.#seen.slice(0, end);
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`no answer of HTTP: ${head.slice(0, 200)}`);
    const length = isHead || status === 204 || status === 304 ? 0 : this.#lengthOf(head, end + 4);
    if (length === undefined) return undefined;
    const body = this.#seen.slice(end + 4, end + 4 + length);
    this.#seen = this.#seen.slice(end + 4 + length);
    if (/\r\nconnection: close/i.test(head) || status === 101) this.#socket.destroy();
    return { kind: 'answer', status, body };
  }

  /** Undefined while the body is incomplete. */
  #lengthOf(head: string, start: number): number | undefined {
    const declared = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (declared !== undefined) return this.#seen.length >= start + Number(declared) ? Number(declared) : undefined;
    if (/\r\ntransfer-encoding: chunked/i.test(head)) {
      const last = this.#seen.indexOf('0\r\n\r\n', start);
      return last < 0 ? undefined : last + 5 - start;
    }
    return this.#isClosed ? this.#seen.length - start : undefined;
  }
}

/**
 * Sends each head separately, over `connections` connections that stay open as long as the server keeps them. It awaits
 * an answer or the end of the connection for each head. `connect` returns open connections.
 */
export async function sendHeads<R extends { readonly method: string; readonly head: string }>(
  requests: readonly R[],
  connect: () => Socket,
  connections = 4,
): Promise<readonly RawAnswer[]> {
  const answers: RawAnswer[] = [];
  let next = 0;
  const open = async (): Promise<RawConnection> => {
    const socket = connect().setNoDelay(true);
    await once(socket, 'encrypted' in socket ? 'secureConnect' : 'connect');
    return new RawConnection(socket);
  };
  const sendSome = async (): Promise<void> => {
    let connection = await open();
    let isNew = true;
    for (let at = next++; at < requests.length; at = next++) {
      const { head, method } = requests[at] as R;
      if (connection.isClosed) {
        connection = await open();
        isNew = true;
      }
      let answer = await connection.exchange(head, method === 'HEAD');
      if (answer.kind === 'closed' && !isNew) {
        // A connection that was kept may have ended with the answer before.
        connection = await open();
        answer = await connection.exchange(head, method === 'HEAD');
      }
      isNew = false;
      answers[at] = answer;
    }
    connection.destroy();
  };
  await Promise.all(Array.from({ length: connections }, sendSome));
  return answers;
}
