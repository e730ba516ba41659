/** Probes, lifecycle hooks and the actions both use. Which fields exist follows k8s.io/api/core/v1. */
import { array, int32, int64, intOrString, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const ExecActionSchema = object('ExecAction', {
  command: array(string),
});
export type ExecAction = Infer<typeof ExecActionSchema>;

export const HTTPHeaderSchema = object('HTTPHeader', {
  name: required(string),
  value: required(string),
});
export type HTTPHeader = Infer<typeof HTTPHeaderSchema>;

export const URISchemeSchema = oneOf('HTTP', 'HTTPS');
export type URIScheme = Infer<typeof URISchemeSchema>;

export const HTTPGetActionSchema = object('HTTPGetAction', {
  path: string,
  port: required(intOrString),
  host: string,
  scheme: URISchemeSchema,
  httpHeaders: array(HTTPHeaderSchema),
});
export type HTTPGetAction = Infer<typeof HTTPGetActionSchema>;

export const TCPSocketActionSchema = object('TCPSocketAction', {
  port: required(intOrString),
  host: string,
});
export type TCPSocketAction = Infer<typeof TCPSocketActionSchema>;

export const GRPCActionSchema = object('GRPCAction', {
  port: required(int32),
  service: string,
});
export type GRPCAction = Infer<typeof GRPCActionSchema>;

export const SleepActionSchema = object('SleepAction', {
  seconds: required(int64),
});
export type SleepAction = Infer<typeof SleepActionSchema>;

export const ProbeHandlerSchema = object('ProbeHandler', {
  exec: ExecActionSchema,
  httpGet: HTTPGetActionSchema,
  tcpSocket: TCPSocketActionSchema,
  grpc: GRPCActionSchema,
});
export type ProbeHandler = Infer<typeof ProbeHandlerSchema>;

export const ProbeSchema = object('Probe', {
  exec: ExecActionSchema,
  httpGet: HTTPGetActionSchema,
  tcpSocket: TCPSocketActionSchema,
  grpc: GRPCActionSchema,
  initialDelaySeconds: int32,
  timeoutSeconds: int32,
  periodSeconds: int32,
  successThreshold: int32,
  failureThreshold: int32,
  terminationGracePeriodSeconds: int64,
});
export type Probe = Infer<typeof ProbeSchema>;

export const LifecycleHandlerSchema = object('LifecycleHandler', {
  exec: ExecActionSchema,
  httpGet: HTTPGetActionSchema,
  tcpSocket: TCPSocketActionSchema,
  sleep: SleepActionSchema,
});
export type LifecycleHandler = Infer<typeof LifecycleHandlerSchema>;

export const SignalSchema = oneOf(
  'SIGABRT',
  'SIGALRM',
  'SIGBUS',
  'SIGCHLD',
  'SIGCLD',
  'SIGCONT',
  'SIGFPE',
  'SIGHUP',
  'SIGILL',
  'SIGINT',
  'SIGIO',
  'SIGIOT',
  'SIGKILL',
  'SIGPIPE',
  'SIGPOLL',
  'SIGPROF',
  'SIGPWR',
  'SIGQUIT',
  'SIGSEGV',
  'SIGSTKFLT',
  'SIGSTOP',
  'SIGSYS',
  'SIGTERM',
  'SIGTRAP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGUSR1',
  'SIGUSR2',
  'SIGVTALRM',
  'SIGWINCH',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGRTMIN',
  'SIGRTMIN+1',
  'SIGRTMIN+2',
  'SIGRTMIN+3',
  'SIGRTMIN+4',
  'SIGRTMIN+5',
  'SIGRTMIN+6',
  'SIGRTMIN+7',
  'SIGRTMIN+8',
  'SIGRTMIN+9',
  'SIGRTMIN+10',
  'SIGRTMIN+11',
  'SIGRTMIN+12',
  'SIGRTMIN+13',
  'SIGRTMIN+14',
  'SIGRTMIN+15',
  'SIGRTMAX-14',
  'SIGRTMAX-13',
  'SIGRTMAX-12',
  'SIGRTMAX-11',
  'SIGRTMAX-10',
  'SIGRTMAX-9',
  'SIGRTMAX-8',
  'SIGRTMAX-7',
  'SIGRTMAX-6',
  'SIGRTMAX-5',
  'SIGRTMAX-4',
  'SIGRTMAX-3',
  'SIGRTMAX-2',
  'SIGRTMAX-1',
  'SIGRTMAX',
);
export type Signal = Infer<typeof SignalSchema>;

export const LifecycleSchema = object('Lifecycle', {
  postStart: LifecycleHandlerSchema,
  preStop: LifecycleHandlerSchema,
  stopSignal: SignalSchema,
});
export type Lifecycle = Infer<typeof LifecycleSchema>;
