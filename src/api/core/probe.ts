/** Probes, lifecycle hooks and the actions both use. The fields follow k8s.io/api/core/v1. */
import {
  array,
  field,
  inline,
  int32,
  int64,
  intOrString,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const ExecActionSchema = object('ExecAction', {
  command: field(1, array(string)),
});
export type ExecAction = Infer<typeof ExecActionSchema>;

export const HTTPHeaderSchema = object('HTTPHeader', {
  name: required(1, string),
  value: required(2, string),
});
export type HTTPHeader = Infer<typeof HTTPHeaderSchema>;

const URISchemeSchema = oneOf('HTTP', 'HTTPS');
export type URIScheme = Infer<typeof URISchemeSchema>;

export const HTTPGetActionSchema = object('HTTPGetAction', {
  path: field(1, string),
  port: required(2, intOrString),
  host: field(3, string),
  scheme: field(4, URISchemeSchema),
  httpHeaders: field(5, array(HTTPHeaderSchema)),
});
export type HTTPGetAction = Infer<typeof HTTPGetActionSchema>;

export const TCPSocketActionSchema = object('TCPSocketAction', {
  port: required(1, intOrString),
  host: field(2, string),
});
export type TCPSocketAction = Infer<typeof TCPSocketActionSchema>;

export const GRPCActionSchema = object('GRPCAction', {
  port: required(1, int32),
  service: pointer(2, string),
});
export type GRPCAction = Infer<typeof GRPCActionSchema>;

export const SleepActionSchema = object('SleepAction', {
  seconds: required(1, int64),
});
export type SleepAction = Infer<typeof SleepActionSchema>;

const ProbeHandlerSchema = object('ProbeHandler', {
  exec: field(1, ExecActionSchema),
  httpGet: field(2, HTTPGetActionSchema),
  tcpSocket: field(3, TCPSocketActionSchema),
  grpc: field(4, GRPCActionSchema),
});
export type ProbeHandler = Infer<typeof ProbeHandlerSchema>;

export const ProbeSchema = object('Probe', {
  ...inline(1, {
    exec: field(1, ExecActionSchema),
    httpGet: field(2, HTTPGetActionSchema),
    tcpSocket: field(3, TCPSocketActionSchema),
    grpc: field(4, GRPCActionSchema),
  }),
  initialDelaySeconds: field(2, int32),
  timeoutSeconds: field(3, int32),
  periodSeconds: field(4, int32),
  successThreshold: field(5, int32),
  failureThreshold: field(6, int32),
  terminationGracePeriodSeconds: pointer(7, int64),
});
export type Probe = Infer<typeof ProbeSchema>;

export const LifecycleHandlerSchema = object('LifecycleHandler', {
  exec: field(1, ExecActionSchema),
  httpGet: field(2, HTTPGetActionSchema),
  tcpSocket: field(3, TCPSocketActionSchema),
  sleep: field(4, SleepActionSchema),
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
  postStart: field(1, LifecycleHandlerSchema),
  preStop: field(2, LifecycleHandlerSchema),
  stopSignal: pointer(3, SignalSchema),
});
export type Lifecycle = Infer<typeof LifecycleSchema>;
