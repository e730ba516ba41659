/** Go prints the code before what the runtime said; what follows it is what upstream shows of a container (grpc status.FromError(err).Message()). */
const CODE = /^rpc error: code = \w+ desc = /;

/** What the runtime itself said: of an error that stands by itself the code goes, one that is wrapped in other words stays as it is. */
export function rpcMessage(text: string): string {
  return text.replace(CODE, '');
}
