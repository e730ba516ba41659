import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ExecActionSchema,
  HTTPHeaderSchema,
  HTTPGetActionSchema,
  TCPSocketActionSchema,
  GRPCActionSchema,
  SleepActionSchema,
  ProbeSchema,
  LifecycleHandlerSchema,
  LifecycleSchema,
} from './probe.ts';

export const docs: readonly TypeDocs[] = [
  describe(ExecActionSchema, 'Runs a command in the container.', {
    command: 'The command and its arguments, run without a shell.',
  }),
  describe(HTTPHeaderSchema, 'An HTTP header.', {
    name: 'The name of the header.',
    value: 'The value of the header.',
  }),
  describe(HTTPGetActionSchema, 'Sends an HTTP GET request.', {
    path: 'The path. Default /.',
    port: 'The port, by number or name.',
    host: 'The host. Default: the address of the pod.',
    scheme: 'HTTP or HTTPS. Default HTTP.',
    httpHeaders: 'Additional headers of the request.',
  }),
  describe(TCPSocketActionSchema, 'Opens a TCP connection.', {
    port: 'The port, by number or name.',
    host: 'The host. Default: the address of the pod.',
  }),
  describe(GRPCActionSchema, 'Sends a gRPC health check.', {
    port: 'The port number.',
    service: 'The service name in the request. Default empty.',
  }),
  describe(SleepActionSchema, 'Waits for a fixed time.', {
    seconds: 'How long to wait, in seconds.',
  }),
  describe(ProbeSchema, 'A regular check of a container. Exactly one handler must be set.', {
    exec: 'Runs a command in the container; exit code 0 is a success.',
    httpGet: 'Sends an HTTP request; a status from 200 to 399 is a success.',
    tcpSocket: 'Opens a TCP connection; success if it is accepted.',
    grpc: 'Sends a gRPC health check; success if it returns SERVING.',
    initialDelaySeconds: 'The delay after the start of the container, in seconds. Default 0.',
    timeoutSeconds: 'The time limit of each check, in seconds. Default 1.',
    periodSeconds: 'The time between checks, in seconds. Default 10.',
    successThreshold:
      'How many successes in a row are needed after a failure. Default 1; must be 1 for liveness and startup probes.',
    failureThreshold: 'How many failures in a row make the probe fail. Default 3.',
    terminationGracePeriodSeconds:
      'The grace period when this probe stops the container, in seconds. Default: that of the pod.',
  }),
  describe(LifecycleHandlerSchema, 'A handler of a lifecycle event. Exactly one must be set.', {
    exec: 'Runs a command in the container; exit code 0 is a success.',
    httpGet: 'Sends an HTTP request; a status from 200 to 399 is a success.',
    tcpSocket: 'Not supported: a tcpSocket handler always fails.',
    sleep: 'Waits for a fixed time.',
  }),
  describe(LifecycleSchema, 'Handlers for the start and the stop of a container.', {
    postStart: 'Runs right after the start; a failure kills the container.',
    preStop: 'Runs before the stop signal is sent.',
    stopSignal: 'The signal that stops the container. Default: that of the image, otherwise SIGTERM.',
  }),
];
