import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * The head of the response to a request without an upgrade. Rejects, and ends the request, if there is no usable
 * response: an error, a protocol switch, a status below 200, or a transfer coding that Node does not decode. Without a
 * listener for `upgrade`, Node ends such a request without a response and without an error.
 */
export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('upgrade', (_answer: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      reject(new Error('the server switched to another protocol, which was not asked for'));
    });
    request.on('response', (answer) => {
      const fault = answerFault(answer);
      if (fault === undefined) return resolve(answer);
      request.destroy();
      reject(new Error(fault));
    });
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
  });
}

/** Returns why a response cannot be used, whatever its body is. */
export function answerFault({
  statusCode = 0,
  headers,
}: Pick<IncomingMessage, 'statusCode' | 'headers'>): string | undefined {
  // Node passes on a 101 without a protocol, and reads a body with an unknown coding until the end of the connection.
  if (statusCode < 200) return `the server answered with status ${statusCode}`;
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked'
    ? undefined
    : `the server used the transfer coding ${JSON.stringify(coding.slice(0, 64))}, which is not supported`;
}
