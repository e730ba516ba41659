/**
 * Go prints the status code before the runtime's message. Upstream's container statuses do not contain it (grpc
 * status.FromError(err).Message()).
 */
const code = /^rpc error: code = \w+ desc = /;

/** Returns the runtime's own message without the code at the beginning. A code inside a wrapped error is kept. */
export function rpcMessage(text: string): string {
  return text.replace(code, '');
}
