/**
 * Go prints the status code before the runtime's message; upstream shows containers without it (grpc
 * status.FromError(err).Message()).
 */
const code = /^rpc error: code = \w+ desc = /;

/** The runtime's own message: the code at the beginning is removed; a code inside a wrapped error is kept. */
export function rpcMessage(text: string): string {
  return text.replace(code, '');
}
