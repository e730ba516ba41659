import { WebSocket } from 'ws';
import { KubeletError } from '../../../base/errors.ts';

/** The person's (or script's) end of a command. */
export interface Terminal {
  out(data: string | Uint8Array): void;
  error(data: string | Uint8Array): void;
  /** Raw input while a session is on; returns the function that gives the terminal back. `onEnd` is end of file. */
  input(
    handlers: {
      onData: (data: Uint8Array) => void;
      onEnd: () => void;
      onResize: (size: { columns: number; rows: number }) => void;
    },
    raw: boolean,
  ): () => void;
}

/** Channels of the remote command protocol, the first byte of each message. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
/** Only v5 can say that standard input is over; runtimes that know v4 at most get the rest without that. */
const CLOSE = 255;
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

/** Runs a command through the runtime's streaming server; resolves to the command's exit code. */
export function runExec(url: string, request: { tty: boolean; stdin: boolean }, terminal: Terminal): Promise<number> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, { perMessageDeflate: false });
  socket.binaryType = 'nodebuffer';
  return new Promise((resolve, reject) => {
    let release: () => void = () => {};
    let exitCode = 0;
    let failure: KubeletError | undefined = new KubeletError(
      'Unavailable',
      'the connection ended before the runtime said how the command ended',
    );
    const send = (channel: number, data: Uint8Array | string): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(data)]));
    };
    socket.on('open', () => {
      if (!request.stdin) return;
      release = terminal.input(
        {
          onData: (data) => send(STDIN, data),
          onEnd: () => {
            if (socket.protocol === protocols[0]) send(CLOSE, Uint8Array.of(STDIN));
            else if (!request.tty) endOfInputUnsupported(terminal);
          },
          onResize: ({ columns, rows }) => send(RESIZE, JSON.stringify({ Width: columns, Height: rows })),
        },
        request.tty,
      );
    });
    socket.on('message', (message: Buffer) => {
      const body = message.subarray(1);
      if (message[0] === STDOUT) terminal.out(body);
      else if (message[0] === STDERR) terminal.error(body);
      else if (message[0] === ERROR) ({ exitCode, failure } = readStatus(body.toString('utf8')));
    });
    socket.on(
      'error',
      (error) => (failure = new KubeletError('Unavailable', `the runtime's streaming server: ${error.message}`)),
    );
    socket.on('close', () => {
      release();
      if (failure === undefined) resolve(exitCode);
      else reject(failure);
    });
  });
}

function endOfInputUnsupported(terminal: Terminal): void {
  terminal.error(
    'kubelet: this runtime cannot be notified that standard input has ended; press Ctrl-C when the command has read all\n',
  );
}

/** The last message on the error channel is a metav1.Status; a command's own exit code is one of its causes. */
function readStatus(text: string): { exitCode: number; failure: KubeletError | undefined } {
  let status: {
    status?: string;
    message?: string;
    reason?: string;
    details?: { causes?: { reason?: string; message?: string }[] };
  };
  try {
    status = JSON.parse(text) as typeof status;
  } catch {
    return { exitCode: 1, failure: new KubeletError('Unavailable', text.trim()) };
  }
  if (status.status === 'Success') return { exitCode: 0, failure: undefined };
  const code = status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && code !== undefined) return { exitCode: Number(code), failure: undefined };
  // The runtime's answer, no fault of this program: Internal would print a stack.
  return { exitCode: 1, failure: new KubeletError('Unavailable', status.message ?? 'the command could not be run') };
}
