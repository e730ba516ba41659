import type { Pod } from '../../../api/core/pod.ts';
import type { Candidate } from '../preemption/victims.ts';
import type { NodeInfo } from './node-info.ts';
import type { Rejection } from './rejection.ts';

/** The plugin name for rejections by extenders. Any event may help such a pod (upstream: framework.ExtenderName). */
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
  /** The URL without a slash at its end. */
  readonly urlPrefix: string;
  /** The path of the filter call. It is empty if the extender does not filter; the same applies to the other verbs. */
  readonly filterVerb: string;
  readonly prioritizeVerb: string;
  readonly preemptVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  /** The time limit in milliseconds, from connecting to the last byte of the response. */
  readonly timeoutMs: number;
  /** Whether the extender caches nodes, so that requests contain only node names. */
  readonly nodeCacheCapable: boolean;
  /** The managed resources. If it is empty, the extender is called for all pods. */
  readonly managed: ReadonlySet<string>;
  /** The managed resources that NodeResourcesFit ignores. */
  readonly ignoredResources: readonly string[];
  /** Whether scheduling continues without this extender if it fails. */
  readonly ignorable: boolean;
  readonly tls: ExtenderTls;
}

export interface ExtenderRequest {
  readonly url: string;
  readonly tls: ExtenderTls;
  /** The JSON body in pieces. */
  readonly body: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends one request to an extender. Rejects unless the response has status 200 and is JSON of the permitted size. */
export type AskExtender = (request: ExtenderRequest) => Promise<unknown>;

export interface ExtenderVerdict {
  readonly kept: readonly NodeInfo[];
  readonly rejections: ReadonlyMap<string, Rejection>;
}

/**
 * A webhook that takes part in decisions (upstream: framework.Extender). If a call fails, its promise rejects with the
 * error to report.
 */
export interface Extender {
  readonly name: string;
  readonly ignorable: boolean;
  readonly filters: boolean;
  readonly prioritizes: boolean;
  readonly preempts: boolean;
  readonly binds: boolean;
  isInterestedIn(pod: Pod): boolean;
  filter(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ExtenderVerdict>;
  /** Returns weighted points by node name, on the scale of the plugins' totals. */
  prioritize(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** Returns the candidates that the extender accepts, with the victims that it accepts. */
  preempt(pod: Pod, candidates: readonly Candidate[], signal: AbortSignal): Promise<readonly Candidate[]>;
  bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void>;
}
