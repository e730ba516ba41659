import type { Pod } from '../../../api/core/pod.ts';
import type { Candidate } from '../preemption/victims.ts';
import type { NodeInfo } from './node-info.ts';
import type { Rejection } from './rejection.ts';

/** The plugin name for a rejection by an extender; any event may help such a pod (upstream: framework.ExtenderName). */
export const EXTENDER_PLUGIN = 'Extender';

export interface ExtenderTls {
  readonly insecure: boolean;
  readonly serverName?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly caPem?: string;
  readonly certPem?: string;
  readonly keyPem?: string;
}

export interface ExtenderSettings {
  /** Without a slash at its end. */
  readonly urlPrefix: string;
  /** Empty: the extender does not support it. The same applies to the other verbs. */
  readonly filterVerb: string;
  readonly prioritizeVerb: string;
  readonly preemptVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  /** In milliseconds, from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  /** The extender caches nodes, so it gets only their names. */
  readonly nodeCacheCapable: boolean;
  /** Empty: it is called for all pods. */
  readonly managed: ReadonlySet<string>;
  /** The managed resources that NodeResourcesFit ignores. */
  readonly ignoredResources: readonly string[];
  /** Its failures do not fail the pod. */
  readonly ignorable: boolean;
  readonly tls: ExtenderTls;
}

export interface ExtenderRequest {
  readonly url: string;
  readonly tls: ExtenderTls;
  /** JSON in pieces. */
  readonly body: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** One question to an extender. Rejects when no answer comes that is JSON of the permitted size with status 200. */
export type AskExtender = (request: ExtenderRequest) => Promise<unknown>;

export interface ExtenderVerdict {
  readonly kept: readonly NodeInfo[];
  readonly rejections: ReadonlyMap<string, Rejection>;
}

/** A webhook that takes part in decisions (upstream: framework.Extender). Its methods reject with what to report. */
export interface Extender {
  readonly name: string;
  readonly ignorable: boolean;
  readonly filters: boolean;
  readonly prioritizes: boolean;
  readonly preempts: boolean;
  readonly binds: boolean;
  isInterestedIn(pod: Pod): boolean;
  filter(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ExtenderVerdict>;
  /** Weighted points by node name, on the scale of the plugins' totals. */
  prioritize(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** Those that it lets through, with the victims that it wants. */
  preempt(pod: Pod, candidates: readonly Candidate[], signal: AbortSignal): Promise<readonly Candidate[]>;
  bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void>;
}
