import { WebSocket } from 'ws';
import { KubeletError } from '../../../base/errors.ts';

/** The user's (or script's) end of a command. */
export interface Terminal {
  out(data: string | Uint8Array): void;
  error(data: string | Uint8Array): void;
  /**
   * Reads raw input during a session. Returns a function that restores the terminal. `onEnd` is called at the end of
   * the input.
   */
  input(
    handlers: {
      onData: (data: Uint8Array) => void;
      onEnd: () => void;
      onResize: (size: { columns: number; rows: number }) => void;
    },
    raw: boolean,
  ): () => void;
}

/** The channels of the remote command protocol, which are the first byte of each message. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
/** The channel that reports the end of standard input. Only v5 has it; older runtimes are not notified of the end. */
const CLOSE = 255;
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

/** Runs a command through the runtime's streaming server. Resolves to the exit code of the command. */
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

/** Reads the last message of the error channel, a metav1.Status. The exit code of the command is one of its causes. */
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
  // The runtime reported this, and not this program: Internal would print a stack.
  return { exitCode: 1, failure: new KubeletError('Unavailable', status.message ?? 'the command could not be run') };
}
